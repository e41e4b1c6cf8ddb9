"""Scores of columns as decisions, labels and probabilities, in the operators of ONNX."""

__all__ = ["answers_of"]

import numpy as np

from mercer.learners.fitting.targets import LEAST_PROBABILITY

WITH_PROBABILITIES = ("logistic", "multinomial")  # losses whose scores are log odds


def answers_of(graph, model, scores):
    """What a fitted learner answers for scores (n, P), by name, in the order of the outputs."""
    if not hasattr(model, "classes_"):
        return {"predictions": scores if model.n_targets_ else graph.op("Squeeze", scores, np.array([1]))}
    decision = _decision(graph, model, scores)
    found = {"label": _label(graph, model, decision), "scores": decision}
    probabilities = _probabilities(graph, model, scores)
    return found if probabilities is None else found | {"probabilities": probabilities}


def _decision(graph, model, scores):
    """``decision_function``, of two classes with one column."""
    columns = model.columns_
    if columns.name == "labels":
        return scores if model.sigmoids_ is None else model.sigmoids_[0] * scores + model.sigmoids_[1]
    if columns.name == "ovo" and model.loss in WITH_PROBABILITIES and columns.n_columns > 1:
        return scores @ (_sides(columns) / (columns.n_classes - 1))
    plain = _plain_decision(graph, columns, scores)
    return plain if model.link_ is None else float(model.link_.slope) * plain + model.link_.offsets


def _plain_decision(graph, columns, scores):
    if columns.name == "joint" and columns.n_classes == 2:
        return scores @ np.array([[-1.0], [1.0]])
    if columns.name != "ovo" or columns.n_columns == 1:
        return scores
    sides = _sides(columns)
    wins = graph.cast(graph.op("Greater", scores, 0.0), "DOUBLE")
    votes = wins @ (sides > 0).astype(float) + (1.0 - wins) @ (sides < 0).astype(float)
    confidence = scores @ sides
    return votes + confidence / (3.0 * (abs(confidence) + 1.0))


def _sides(columns):
    """Which side of each pair a class is on: +1, -1 or 0, (P, K)."""
    return columns.by_class(np.eye(columns.n_columns)) * (columns.n_classes - 1)


def _label(graph, model, decision):
    is_positive = graph.cast(graph.op("Greater", decision, 0.0), "INT64")
    if model.columns_.name == "labels":
        return is_positive
    if len(model.classes_) == 2:
        number = graph.op("Squeeze", is_positive, np.array([1]))
    else:
        number = graph.op("ArgMax", decision, axis=1, keepdims=0)
    return graph.op("Gather", np.asarray(model.classes_), number)


def _probabilities(graph, model, scores):
    """``predict_proba``, None where there is none."""
    columns = model.columns_
    if model.link_ is not None:
        odds = float(model.link_.slope) * _plain_decision(graph, columns, scores) + model.link_.offsets
        return (
            graph.op("Softmax", _two(graph, odds), axis=1)
            if len(model.link_.offsets) == 1
            else graph.op("Softmax", odds, axis=1)
        )
    if model.loss == "multinomial":
        return graph.op("Softmax", scores, axis=1)
    if model.loss == "logistic":
        return _of_columns(graph, columns, graph.op("Sigmoid", scores))
    if model.sigmoids_ is not None:
        return _of_columns(graph, columns, graph.op("Sigmoid", model.sigmoids_[0] * scores + model.sigmoids_[1]))
    return None


def _of_columns(graph, columns, q):
    """From probabilities of the positive side of each column."""
    if columns.name == "labels":
        return q
    if columns.n_columns == 1:
        return graph.op("Concat", 1.0 - q, q, axis=1)
    if columns.name == "ovo":
        q = graph.clipped(q, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
        odds = graph.op("Log", q) - graph.op("Log", 1.0 - q)
        return graph.op("Softmax", odds @ (_sides(columns) / columns.n_classes), axis=1)
    return graph.share(q, graph.row_sums(q), 1 / columns.n_columns)


def _two(graph, odds):
    """Two columns for a single one: the first class has score 0."""
    return graph.op("Concat", odds * 0.0, odds, axis=1)
