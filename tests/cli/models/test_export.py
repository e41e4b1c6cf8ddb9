"""``mercer export``: a model file as ONNX, and what has no such form."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer

pytest.importorskip("onnx")


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_written_model_answers_like_the_one_of_the_file(succeeds):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = load_digits(n_class=3, return_X_y=True)
    X = (X / 16).astype(np.float32)
    model = mercer.KernelClassifier("chi2").fit(X, y)
    mercer.save(model, "m.mercer")
    document = succeeds("export", "m.mercer", "m.onnx", "--json")
    assert (document["columns"], document["outputs"]) == (64, ["label", "scores"])
    session = onnxruntime.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(["label"], {"X": X})[0], model.predict(X))
    assert "rows of 64 columns" in succeeds("export", "m.mercer", "m.onnx")


def test_a_model_without_such_a_form_is_refused_and_nothing_is_written(fails, tmp_path):
    mercer.save(mercer.Chi2(), "kernel.mercer")
    fails(1, ["to_onnx needs", "not Chi2"], "export", "kernel.mercer", "m.onnx")
    fails(2, ["no directory"], "export", "kernel.mercer", "nowhere/m.onnx")
    assert not (tmp_path / "m.onnx").exists()
