"""Files with a correct checksum and correct arrays whose document asks for what no model contains."""

import os
import subprocess

import numpy as np
import pytest

import mercer
from tests.hostile.forge import document, header, seal, with_arrays


def model(name="Toy", parameters=None, state=None):
    return {"$": "object", "class": name, "parameters": parameters or {}, "state": state or {}}


def test_the_forged_document_is_accepted_when_it_does_not_lie(tmp_path):
    node = {"$": "tuple", "items": [model(), {"$": "scalar", "type": "float32", "value": 0.5}]}
    (tmp_path / "good.mercer").write_bytes(seal(header(document(node))))
    inner, number = mercer.load(tmp_path / "good.mercer").x_
    assert (type(inner).__name__, number) == ("Toy", np.float32(0.5))


@pytest.mark.parametrize(
    "name",
    ["Unknown", "os.system", "subprocess.Popen", "builtins.eval", "sklearn.svm.SVC", "mercer.Toy", "Toy.__init__", "",
     "save", "load", "thread_limit", "ModelFileError", "__version__", "__class__", None, 3, ["Toy"]],
)  # fmt: skip
def test_a_class_that_is_not_on_the_list_is_refused_and_nothing_runs(assert_refused, monkeypatch, name):
    def alarm(*args, **options):
        raise AssertionError("executed")

    monkeypatch.setattr(os, "system", alarm)
    monkeypatch.setattr(subprocess, "Popen", alarm)
    assert_refused(seal(header(document(model(name)))), "names the class")


def test_a_public_name_that_leads_out_of_the_package_is_refused(assert_refused, monkeypatch):
    monkeypatch.setitem(mercer._NAMES, "LinearRegression", "sklearn.linear_model")
    assert_refused(seal(header(document(model("LinearRegression")))), "names the class 'LinearRegression'")


@pytest.mark.parametrize("name", ["valeu", "self", "__class__", "deep", "", "value__more"])
def test_a_parameter_the_constructor_does_not_have_is_refused(assert_refused, name):
    assert_refused(seal(header(document(model(parameters={name: 1})))), "Toy has no parameter")


@pytest.mark.parametrize(
    "name",
    ["weights", "_weights_", "__class__", "__dict__", "__init__", "get_params", "predict_", "size_", "total_", "a b_",
     "a.b_", "_", ""],
)  # fmt: skip
def test_state_that_is_not_a_fitted_attribute_is_refused(assert_refused, name):
    assert_refused(seal(header(document(model(state={name: 1})))), "cannot be fitted state of Toy")


def test_values_that_a_class_refuses_are_refused_with_its_reason(assert_refused):
    refused = model("PositiveToy", parameters={"scale": -2})
    assert_refused(seal(header(document(refused))), "valid PositiveToy. The scale must be positive, not -2")
    for table in (None, "text", [[1.0]]):
        unchecked = model("PositiveToy", state={"table_": table})
        assert_refused(seal(header(document(unchecked))), "does not describe a valid PositiveToy")


def test_an_immutable_object_takes_no_state(assert_refused):
    assert_refused(seal(header(document(model("Frozen", state={"gamma_": 2})))), "valid Frozen. immutable")


@pytest.mark.parametrize(
    "changes",
    [
        {"object": None},
        {"object": 3},
        {"object": []},
        {"object": {"$": "tuple", "items": []}},
        {"object": model() | {"more": 1}},
        {"object": model(name=["Toy"])},
        {"mercer": 1},
        {"mercer": "\x1b[2J"},
        {"libraries": []},
        {"libraries": {"numpy": 2}},
        {"libraries": {"\x07": "2"}},
        {"more": 1},
    ],
)
def test_a_document_of_another_shape_is_refused(assert_refused, changes):
    assert_refused(seal(header(document(**changes))))


@pytest.mark.parametrize(
    "node",
    [
        {"$": "pickle", "of": "x"},
        {"$": "__class__"},
        {"$": ["tuple"], "items": []},
        {"$": None},
        {},
        {"items": []},
        {"$": "tuple"},
        {"$": "tuple", "items": [], "more": 1},
        {"$": "tuple", "items": {}},
        {"$": "tuple", "items": "text"},
        {"$": "slice", "items": [1, 2]},
        {"$": "dict", "keys": ["a"], "values": []},
        {"$": "dict", "keys": ["a", "a"], "values": [1, 2]},
        {"$": "dict", "keys": [[]], "values": [1]},
        {"$": "dict", "keys": [{"$": "scalar", "type": "int8", "value": 1}], "values": [1]},
        {"$": "int", "hex": "__import__('os')"},
        {"$": "int", "hex": 12},
        {"$": "float", "value": "1.5"},
        {"$": "float", "value": []},
        {"$": "complex", "parts": [1.0]},
        {"$": "complex", "parts": [1.0, "2"]},
        {"$": "python_type", "name": "eval"},
        {"$": "python_type", "name": "object"},
        {"$": "numpy_type", "name": "object"},
        {"$": "numpy_type", "name": ["float32"]},
        {"$": "dtype", "name": "O"},
        {"$": "numpy_str", "value": 1},
        {"$": "scalar", "type": "object", "value": 1},
        {"$": "scalar", "type": "int8", "value": 300},
        {"$": "scalar", "type": "int8", "value": 1.0},
        {"$": "scalar", "type": "int8", "value": "1"},
        {"$": "scalar", "type": "float16", "value": 1e300},
        {"$": "scalar", "type": "float32", "value": [1.0]},
        {"$": "transpose", "of": [1]},
        {"$": "transpose", "of": "x"},
        {"$": "array", "of": "missing"},
        {"$": "array", "of": None},
        {"$": "array", "of": ["x"]},
        model() | {"parameters": []},
        model() | {"state": None},
    ],
    ids=str,
)
def test_a_malformed_node_is_refused(assert_refused, node):
    assert_refused(seal(header(document(node))), "is refused")


@pytest.mark.parametrize("opening", ["[", '{"$":"tuple","items":[', '{"$":"transpose","of":'])
def test_deep_nesting_is_refused(assert_refused, opening):
    closing = {"[": "]", '{"$":"tuple","items":[': "]}", '{"$":"transpose","of":': "}"}[opening]
    for depth in (60, 300, 50_000):
        nested = header(document("HERE")).replace(
            r"\"HERE\"", (opening * depth + "1" + closing * depth).replace('"', '\\"')
        )
        assert_refused(seal(nested), "nested too deeply")


def test_an_array_that_nothing_uses_is_refused(assert_refused):
    assert_refused(with_arrays(None, {"smuggled": np.ones(3)}), "it contains the unused array 'smuggled'")


def int64(*values):
    return np.array(values, np.int64)


TEXT = np.frombuffer("aäö".encode(), np.uint8)
STRINGS = {"$": "strings", "shape": [2], "bytes": "b", "offsets": "o"}
ARRAY_ABUSE = {
    "bytes that are not bytes": ({"$": "bytes", "of": "x"}, {"x": np.ones(2)}),
    "bytes with two dimensions": ({"$": "bytes", "of": "x"}, {"x": np.ones((2, 2), np.uint8)}),
    "text that is not code points": ({"$": "text", "of": "x"}, {"x": np.ones((2, 2))}),
    "text beyond the last code point": ({"$": "text", "of": "x"}, {"x": np.full((2, 2), 0x110000, np.uint32)}),
    "text without a width": ({"$": "text", "of": "x"}, {"x": np.ones((2, 0), np.uint32)}),
    "text without a dimension": ({"$": "text", "of": "x"}, {"x": np.array(65, np.uint32)}),
    "complex numbers of three parts": ({"$": "complex_array", "of": "x"}, {"x": np.ones((2, 3))}),
    "complex numbers of integers": ({"$": "complex_array", "of": "x"}, {"x": np.ones((2, 2), np.int64)}),
    "complex numbers without a dimension": ({"$": "complex_array", "of": "x"}, {"x": np.array(1.0)}),
    "offsets that are missing": (STRINGS, {"o": int64(), "b": TEXT}),
    "offsets that go back": (STRINGS | {"shape": [3]}, {"o": int64(0, 5, 1, 5), "b": TEXT}),
    "offsets beyond the end": (STRINGS, {"o": int64(0, 1, 2**40), "b": TEXT}),
    "offsets below the start": (STRINGS, {"o": int64(-1, 1, 5), "b": TEXT}),
    "offsets of floats": (STRINGS, {"o": np.array([0.0, 1, 5]), "b": TEXT}),
    "offsets within a character": (STRINGS, {"o": int64(0, 2, 5), "b": TEXT}),
    "more strings than offsets": (STRINGS | {"shape": [2**40]}, {"o": int64(0, 1, 5), "b": TEXT}),
    "a shape of strings that overflows": (STRINGS | {"shape": [0, 2**62, 2**62]}, {"o": int64(0), "b": TEXT[:0]}),
    "a negative shape of strings": (STRINGS | {"shape": [-2, -1]}, {"o": int64(0, 1, 5), "b": TEXT}),
}


@pytest.mark.parametrize("name", ARRAY_ABUSE)
def test_an_array_that_does_not_fit_its_use_is_refused(assert_refused, name):
    node, arrays = ARRAY_ABUSE[name]
    assert_refused(with_arrays(node, arrays), "malformed")


def sparse(data=(1.0, 2.0), indices=(0, 2), indptr=(0, 1, 2), shape=(2, 3), kind="csr_array"):
    node = {"$": "sparse", "type": kind, "shape": list(shape)}
    node |= {part: {"$": "array", "of": part} for part in ("data", "indices", "indptr")}
    parts = {"data": np.asarray(data), "indices": np.asarray(indices), "indptr": np.asarray(indptr)}
    return with_arrays(node, parts)


def test_the_forged_sparse_matrix_is_accepted_when_it_does_not_lie(tmp_path):
    (tmp_path / "good.mercer").write_bytes(sparse())
    assert mercer.load(tmp_path / "good.mercer").x_.toarray().tolist() == [[1, 0, 0], [0, 0, 2]]


@pytest.mark.parametrize(
    "lie",
    [
        {"indices": (0, 3)},
        {"indices": (0, -1)},
        {"indices": (0, 2**40)},
        {"indices": (0.0, 2.0)},
        {"indices": (0,)},
        {"indices": ((0, 2),)},
        {"indptr": (0, 2, 1)},
        {"indptr": (0, 5, 2)},
        {"indptr": (1, 1, 2)},
        {"indptr": (0, 1, 7)},
        {"indptr": (0, 2)},
        {"indptr": ()},
        {"data": (1.0,)},
        {"shape": (2, -3)},
        {"shape": (2**50, 3)},
        {"shape": (2**63, 3)},
        {"shape": (2,)},
        {"shape": (2, 3, 1)},
        {"shape": (2, 1)},
        {"shape": (2, 3.0)},
        {"kind": "coo_array"},
        {"kind": "csr"},
        {"kind": None},
    ],
    ids=str,
)
def test_a_sparse_matrix_that_would_lead_a_loop_astray_is_refused(assert_refused, lie):
    assert_refused(sparse(**lie), "malformed|not valid")
