"""``to_onnx``: a fitted learner as a file of ONNX."""

__all__ = ["to_onnx"]

import json

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.tables import open_for_writing
from mercer.learners.base import KernelLearner
from mercer.learners.export.decisions import answers_of
from mercer.learners.export.graph import LARGEST, Graph, Value
from mercer.learners.export.predictors import scores_of

OPSET, IR_VERSION = 17, 8  # of 2022: also understood by runtimes that are some years old


def to_onnx(model, path=None):
    """Write a fitted classifier or regressor as an ONNX graph, which other languages and runtimes execute.

    Parameters
    ----------
    model : KernelClassifier, KernelClassifierCV, KernelRegressor, IntersectionSVC or IntersectionSVR, fitted
        Of a kernel by name, of landmarks, tables, levels or linear codes, or chosen by trials.
    path : None, or the file to write

    Returns
    -------
    onnx.ModelProto

    Notes
    -----
    The input ``X`` holds rows as float32, shape (n, columns). Classifiers answer ``label``, ``scores`` (of two classes
    one column, otherwise one for each, as ``decision_function``) and, where ``predict_proba`` exists,
    ``probabilities``; regressors answer ``predictions``. Sums run in float64: scores equal those of the library to
    1e-5 of the largest one. What has no operators in ONNX is refused with the reason: local machines, callable kernels,
    sparse grids of other kernels than the intersection. Needs ``pip install 'mercer[onnx]'``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier, to_onnx
    >>> model = KernelClassifier("chi2").fit(*load_iris(return_X_y=True))
    >>> [output.name for output in to_onnx(model).graph.output]
    ['label', 'scores']
    """
    if not isinstance(model, KernelLearner):
        raise InputError(
            f"to_onnx needs a classifier or regressor of Mercer, not {type(model).__name__}. For a pipeline, export "
            f"its last step and transform the rows first."
        )
    check_is_fitted(model)
    graph = Graph()
    X = graph.cast(Value(graph, "X"), "DOUBLE")
    scores = scores_of(graph, model.predictor_, X) + np.asarray(model.intercept_, dtype=np.float64)
    made = _finished(graph, model, answers_of(graph, model, scores))
    if path is not None:
        with open_for_writing(path) as stream:
            stream.write(made.SerializeToString())
    return made


def _finished(graph, model, answers):
    """The model of ONNX with its inputs, outputs and what is known of it."""
    if graph.nbytes > LARGEST:
        raise InputError(
            f"{type(model).__name__} has {graph.nbytes / 2**30:.1f} GiB of weights; an ONNX file holds at most 2 "
            f"GiB. Use fewer landmarks."
        )
    from mercer import __version__

    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    kinds = {"label": _label_type(model, types)}
    outputs = []
    for name, value in answers.items():
        graph.nodes.append(helper.make_node("Identity", [value.name], [name]))
        outputs.append(helper.make_tensor_value_info(name, kinds.get(name, types.DOUBLE), _shape(model, name)))
    shape = ["rows", int(model.n_features_in_)]
    inputs = [helper.make_tensor_value_info("X", types.FLOAT, shape)]
    body = helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, initializer=graph.constants)
    made = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
        producer_name="mercer", producer_version=__version__,
    )  # fmt: skip
    helper.set_model_props(made, _facts(model))
    graph.onnx.checker.check_model(made)
    return made


def _facts(model):
    """What the file says of itself."""
    names = getattr(model, "feature_names_in_", None)
    facts = {"estimator": type(model).__name__, "plan": model.plan_.summary}
    return facts if names is None else facts | {"columns": json.dumps([str(name) for name in names])}


def _shape(model, name):
    """The shape of an output, with a number of columns where it has any."""
    if name == "predictions":
        return ["rows", model.n_targets_] if model.n_targets_ else ["rows"]
    columns = model.columns_
    if name == "label":
        return ["rows", columns.n_columns] if columns.name == "labels" else ["rows"]
    is_single = name == "scores" and columns.n_classes == 2 and columns.name != "labels"
    return ["rows", 1 if is_single else columns.n_classes]


def _label_type(model, types):
    kind = np.asarray(getattr(model, "classes_", 0)).dtype.kind
    if getattr(model, "multi_class_", None) == "labels" or kind in "iu":
        return types.INT64
    return {"f": types.DOUBLE, "b": types.BOOL}.get(kind, types.STRING)
