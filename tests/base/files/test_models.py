"""save and load: every value and every object comes back as it was, or is refused by its name."""

import json
import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.tree import DecisionTreeClassifier

import mercer
from mercer._base.errors import ModelFileError, NotSaveableError
from mercer._base.files.models import describe
from mercer.kernels import KERNELS
from tests.base.toys import Frozen, PositiveToy, Toy, register


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def round_trip(model, path, **options):
    mercer.save(model, path)
    return mercer.load(path, **options)


def assert_same(left, right):
    """Equal in type, value and, for arrays, element type and shape."""
    assert type(left) is type(right)
    if isinstance(left, np.ndarray):
        np.testing.assert_array_equal(left, right, strict=True)
    elif scipy.sparse.issparse(left):
        assert left.shape == right.shape
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(left, part), getattr(right, part))
    elif isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    elif isinstance(left, dict):
        assert_same(list(left), list(right))
        assert_same(list(left.values()), list(right.values()))
    elif isinstance(left, float | complex | np.inexact):
        np.testing.assert_equal(left, right)  # NaN is equal to NaN
        assert str(left) == str(right)  # and -0.0 is not 0.0
    else:
        assert left == right


SPARSE = scipy.sparse.random_array((7, 5), density=0.4, format="csr", random_state=np.random.default_rng(0))
VALUES = {
    "plain": [None, True, False, 0, -7, 2**63 - 1, "text", 'ünïcode "\\\n\x00\ud800', "", []],
    "large integers": [2**63, -(2**63) - 1, 10**5000],
    "floats": [0.1, -0.0, 5e-324, math.inf, -math.inf, math.nan, complex(math.nan, -0.0)],
    "bytes": [b"", bytes(range(256))],
    "containers": ({"a": 1, "b": [()]}, {1: "x", -(2**70): (2,)}, {}, slice(1, None, 2), ((((),),),)),
    "numpy scalars": [np.float32(0.1), np.float64("nan"), np.int8(-1), np.uint64(2**64 - 1), np.bool_(True),
                      np.complex64(1 + 2j), np.str_("text"), np.float16("inf")],
    "types": [np.float32, np.bool_, float, str, np.dtype("float32"), np.dtype("complex128")],
    "arrays": [np.arange(6.0).reshape(2, 3), np.array(5, np.int8), np.zeros((0, 3), np.float16), np.array([True])],
    "complex arrays": [np.array([1 + 2j, np.nan]), np.array(3j, np.complex64), np.zeros((2, 0), complex)],
    "strings": [np.array(["ä", "", "long"]), np.array("one"), np.zeros((2, 0), "U5"), np.zeros((3,), "U40")],
    "strings as objects": [np.array(["ä", "", "long", "\ud800\0"], object), np.array([["x"], ["y"]], object),
                           np.array([], object), np.array("one", object)],
    "sparse": [SPARSE, SPARSE.tocsc(), scipy.sparse.csr_matrix(SPARSE), scipy.sparse.csc_matrix((3, 4), dtype=bool),
               SPARSE.astype(np.complex64)],
}  # fmt: skip


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_values_come_back_as_they_were(path, name, mmap):
    model = Toy(value=VALUES[name])
    model.state_ = VALUES[name]
    loaded = round_trip(model, path, mmap=mmap)
    assert_same(loaded.value, VALUES[name])
    assert_same(loaded.state_, VALUES[name])


def leaves():
    dtypes = st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(endianness="="),
        hnp.floating_dtypes(endianness="=", sizes=(16, 32, 64)),
        hnp.complex_number_dtypes(endianness="=", sizes=(64, 128)),
        hnp.unicode_string_dtypes(endianness="="),
    )
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes))
    numbers = st.one_of(st.booleans(), st.integers(), st.floats(), st.complex_numbers())
    return st.one_of(st.none(), numbers, st.text(), st.binary(), arrays)


def trees():
    keys = st.one_of(st.text(), st.integers())
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(keys, inner)),
        max_leaves=8,
    )


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(value=trees())
def test_any_nested_value_comes_back_as_it_was(path, value):
    assert_same(round_trip(Toy(value=value), path).value, value)


def test_memory_order_is_kept_because_blas_rounds_by_it(path, rng):
    values = {kind: np.asfortranarray(rng.normal(size=(3, 4)).astype(kind)) for kind in ("f4", "c16", "U8")}
    loaded = round_trip(Toy(value=values), path).value
    for kind, array in values.items():
        assert_same(loaded[kind], array)
        assert loaded[kind].flags.f_contiguous
        assert not loaded[kind].flags.c_contiguous


def test_a_shared_array_is_written_once_and_shared_again(path):
    shared = np.arange(5000.0)
    model = Toy(value=shared, inner=Toy(value=shared[:]))
    model.copy_ = shared.copy()
    loaded = round_trip(model, path)
    assert [entry["name"] for entry in describe(path)["arrays"]] == ["inner.value", "copy_"]
    assert np.shares_memory(loaded.value, loaded.inner.value)
    assert not np.shares_memory(loaded.value, loaded.copy_)


def test_arrays_made_on_demand_are_not_confused_when_one_takes_the_address_of_another(path, monkeypatch):
    def fresh(self, deep=True):
        return {"value": np.array([self.value], object), "inner": None, "random_state": None}

    monkeypatch.setattr(Toy, "get_params", fresh)
    model = Toy(value="root")
    model.parts_ = [Toy(value=text) for text in "abcdefgh"]
    assert [part.value[0] for part in round_trip(model, path).parts_] == list("abcdefgh")


def test_nested_estimators_keep_parameters_and_fitted_state(path):
    inner = Toy(value="inner", random_state=3)
    inner.weights_ = np.arange(3)
    model = Toy(inner=inner, value=[Frozen(gamma=0.25)])
    model.steps_ = {"first": PositiveToy(scale=2)}
    model.steps_["first"].table_ = np.ones((2, 2))
    loaded = round_trip(model, path)
    assert_same(loaded.inner.get_params(), inner.get_params())
    assert_same(loaded.inner.weights_, inner.weights_)
    assert loaded.value[0].gamma == 0.25
    assert loaded.steps_["first"].scale == 2
    assert_same(loaded.steps_["first"].table_, np.ones((2, 2)))


def test_what_the_class_computes_itself_and_private_caches_are_left_out(path):
    model = Toy()
    model.weights_ = [1, 2]
    model._cache = lambda: None
    assert model.total_ == 3  # now in the __dict__ of the instance
    loaded = round_trip(model, path)
    assert vars(loaded).keys() == {"value", "inner", "random_state", "weights_"}
    assert loaded.total_ == 3


def test_mapped_arrays_are_read_only_and_saving_over_their_own_file_is_safe(path):
    model = Toy()
    model.weights_ = np.arange(1000.0)
    loaded = round_trip(model, path, mmap=True)
    with pytest.raises(ValueError, match="read-only"):
        loaded.weights_[0] = 1
    mercer.save(loaded, path)
    assert_same(mercer.load(path).weights_, model.weights_)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.random.RandomState(0), "Use an integer seed"),
        (np.random.default_rng(0), "Use an integer seed"),
        (math.sqrt, "a function is code"),
        (lambda x: x, "a function is code"),
        (DecisionTreeClassifier(), "DecisionTreeClassifier is neither a class of Mercer nor a class of scikit-learn"),
        (np.array([1, "a", None], object), "Convert the array to numbers, or to strings"),
        (np.zeros(2, "M8[D]"), "Convert it to integers"),
        (np.zeros(2, "S3"), "Convert it to integers"),
        (np.zeros(2, "f4,i4"), "Convert it to integers"),
        (np.longdouble(1), "Convert it to integers"),
        (np.ma.masked_array([1]), "MaskedArray"),
        ({(1, 2): 3}, "neither a string nor an integer"),
        ({True: 3}, "neither a string nor an integer"),
        ({1, 2}, "not set"),
        (dict, "the type dict"),
        (scipy.sparse.coo_array((2, 2)), "coo_array"),
    ],
)
def test_what_has_no_safe_form_is_refused_by_its_path(path, value, message):
    with pytest.raises(NotSaveableError, match=rf"^Toy\.inner\.value\.1 cannot be saved: .*{message}"):
        mercer.save(Toy(inner=Toy(value=[0, value])), path)
    assert not path.exists()


def test_a_generator_as_random_state_is_refused_by_name(path):
    with pytest.raises(NotSaveableError, match=r"^Toy\.random_state cannot be saved: a Generator .*random_state=0"):
        mercer.save(Toy(random_state=np.random.default_rng(0)), path)


def test_a_value_that_holds_itself_is_refused(path):
    loop = []
    loop.append(loop)
    with pytest.raises(NotSaveableError, match="refers to itself"):
        mercer.save(Toy(value=loop), path)


def test_the_deepest_value_that_can_be_saved_can_be_loaded(path):
    value, deeper = np.complex64(1), []
    for _ in range(49):
        value, deeper = (value,), (deeper,)
    assert_same(round_trip(Toy(value=value), path).value, value)
    with pytest.raises(NotSaveableError, match="nested too deeply"):
        mercer.save(Toy(value=[[(deeper,)]]), path)


def test_an_attribute_that_would_be_lost_is_refused(path):
    model = Toy()
    model.counts = [1]
    with pytest.raises(NotSaveableError, match=r"Toy\.counts .* Name it counts_ to keep it"):
        mercer.save(model, path)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), [1], mercer.ModelFileError("x"), mercer.save])
def test_only_objects_of_mercer_are_saved(path, model):
    with pytest.raises(NotSaveableError, match=r"save\(\) takes a kernel or estimator of Mercer"):
        mercer.save(model, path)


def test_a_subclass_of_somebody_else_is_not_mistaken_for_its_parent(path):
    impostor = type("Toy", (Toy,), {"__module__": "mercer.toys"})
    with pytest.raises(NotSaveableError, match=r"takes a kernel or estimator of Mercer, .* not Toy"):
        mercer.save(impostor(), path)


def test_a_class_checks_what_is_loaded_into_it(path):
    model = PositiveToy()
    model.table_ = np.ones(3)
    with pytest.raises(ModelFileError, match=r"model\.mercer' .* valid PositiveToy\. table_ must have 2 dimensions"):
        round_trip(model, path)
    model.table_ = np.ones((3, 1))
    model.scale = -1
    with pytest.raises(ModelFileError, match="The scale must be positive, not -1"):
        round_trip(model, path)


def test_a_parameter_that_an_older_file_lacks_takes_its_default(path, monkeypatch):
    monkeypatch.setattr(Toy, "get_params", lambda self, deep=True: {"value": self.value})
    model = Toy(value=3)
    del model.inner, model.random_state
    assert vars(round_trip(model, path)) == {"value": 3, "inner": None, "random_state": None}


def test_the_same_model_gives_the_same_bytes_and_another_one_another_fingerprint(tmp_path):
    one, other = Toy(value=1), Toy(value=1)
    one.a_, one.b_ = 1, np.ones(2)
    other.b_, other.a_ = np.ones(2), 1
    for name, model in {"one": one, "other": other, "third": Toy(value=2)}.items():
        mercer.save(model, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert describe(tmp_path / "one")["fingerprint"] == describe(tmp_path / "other")["fingerprint"]
    assert describe(tmp_path / "one")["fingerprint"] != describe(tmp_path / "third")["fingerprint"]


def test_a_description_needs_the_header_only_and_says_so(path):
    model = Toy(value=(1, math.inf, np.float32), inner=Frozen(gamma=np.float64(0.5)), random_state={"a": b"x"})
    model.weights_ = np.ones((2, 3), np.float32)
    mercer.save(model, path)
    with open(path, "r+b") as file:
        file.seek(-1, 2)
        file.write(b"!")
    found = describe(path)
    assert json.loads(json.dumps(found)) == found
    assert found["class"] == "Toy"
    assert found["parameters"] == {
        "inner": "Frozen(gamma=0.5)",
        "random_state": "{'a': <array 'random_state.0'>}",
        "value": "(1, inf, float32)",
    }
    assert found["state"] == {"weights_": "<array 'weights_'>"}
    assert {"name": "weights_", "dtype": "float32", "shape": [2, 3], "bytes": 24} in found["arrays"]
    assert found["bytes"] == path.stat().st_size
    assert (found["format"], found["mercer"], found["libraries"]["numpy"]) == (1, mercer.__version__, np.__version__)
    assert (len(found["fingerprint"]), found["sha256"].startswith(found["fingerprint"])) == (16, True)
    assert found["verified"] is False
    with pytest.raises(ModelFileError, match="checksum"):
        describe(path, verify=True)


CHI2, RBF = mercer.Chi2(), mercer.RBF(gamma=np.float32(0.3))


@pytest.mark.parametrize(
    "kernel",
    [*map(mercer.get_kernel, KERNELS), mercer.PowerMean(p=-math.inf), mercer.Chi2(signed=True), RBF, CHI2 + 0.5 * RBF,
     CHI2 * RBF, (CHI2 * RBF + CHI2).normalized(), mercer.Exponential(CHI2)],
    ids=repr,
)  # fmt: skip
def test_a_kernel_comes_back_equal_and_gives_the_same_bits(path, rng, kernel):
    X = rng.random((6, 5))
    loaded = round_trip(kernel, path)
    assert loaded == kernel
    assert_same(loaded(X), kernel(X))


def test_a_kernel_that_is_a_function_is_refused_by_name(path):
    with pytest.raises(NotSaveableError, match=r"^SumKernel\.kernels\.1\.function cannot be saved: a function is code"):
        mercer.save(CHI2 + mercer.CallableKernel(np.dot), path)


@pytest.mark.parametrize("name", ["description", "load"])
def test_names_that_would_upset_a_terminal_are_refused(path, name, monkeypatch):
    monkeypatch.setattr(mercer, "__version__", "0.1 \x1b[31m red")
    mercer.save(Toy(), path)
    with pytest.raises(ModelFileError, match="does not describe a model"):
        describe(path) if name == "description" else mercer.load(path)
