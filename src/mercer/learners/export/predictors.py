"""Predictors of raw rows, in the operators of ONNX: what a learner folds to."""

__all__ = ["scores_of"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.codes import CodePredictor, LevelQuantizer
from mercer.kernels import Intersection, Linear, needs_non_negative
from mercer.learners.auto.predictor import PanelPredictor, ScaledPredictor
from mercer.learners.export.kernels import kernel_values
from mercer.maps import FourierMap, HomogeneousMap, ReducedPredictor, TablePredictor
from mercer.spaces import GridPredictor, LandmarkPredictor, MapPredictor


def scores_of(graph, predictor, X):
    """The scores (n, P) of rows X, a value of the graph, by a predictor of Mercer."""
    made = SCORES.get(type(predictor))
    if made is None:
        name = type(predictor).__name__
        raise InputError(f"to_onnx cannot write a {name}{REASONS.get(name, '')}.")
    return made(graph, predictor, X)


# ---------------------------------------------------------------------------------------------------- kernels and maps


def _landmarks(graph, predictor, X):
    Z = predictor.landmarks
    Z = (Z.toarray() if sparse.issparse(Z) else Z).astype(np.float64)
    return kernel_values(graph, predictor.kernel, X, Z) @ _wide(predictor.coefficients)


def _mapped(graph, predictor, X):
    made = MAPS.get(type(predictor.map))
    if made is None:
        raise InputError(
            f"to_onnx cannot write the map {type(predictor.map).__name__}. Use HomogeneousMap, NystroemMap, FourierMap "
            "or SparseAdditiveMap of the intersection, or name a kernel."
        )
    return made(graph, predictor.map, _wide(predictor.v), X)


def _homogeneous(graph, map, v, X):
    """Sums over columns of |x|^(g/2) times a cosine and a sine of multiples of log |x|."""
    is_odd = map.kernel_.parity == "odd"
    amplitudes = np.sqrt(map.coefficients_ * np.where(np.arange(len(map.coefficients_)) > 0, 2, 1))
    weights = v.reshape(map.n_features_in_, -1, v.shape[1])
    degree, magnitude = float(map.kernel_.homogeneity), abs(X)
    root = graph.op("Pow", magnitude, degree / 2)
    root = root * graph.op("Sign", X) if is_odd else root
    total = root @ (amplitudes[0] * weights[:, 0])
    if len(amplitudes) == 1:
        return total
    logs = graph.op("Log", graph.where(graph.op("Equal", magnitude, 0.0), 1.0, magnitude))
    angle = logs * (2 * np.pi * degree / map.period_)
    for k, amplitude in enumerate(amplitudes[1:], start=1):
        for place, wave in ((2 * k - 1, "Cos"), (2 * k, "Sin")):
            total = total + (root * graph.op(wave, angle * float(k))) @ (amplitude * weights[:, place])
    return total


def _fourier(graph, map, v, X):
    if map.map_ is not None:
        raise InputError("to_onnx cannot write a FourierMap of another map. Use map=NystroemMap(kernel).")
    size, n_frequencies = map.inner_.n_features, map.frequencies_.shape[1]
    phases = np.zeros(n_frequencies)
    phases[-1] = map.phase_
    angles, scaled = X @ map.frequencies_ + phases, np.sqrt(2 / size) * v
    sines = graph.op("Slice", angles, np.array([0]), np.array([size - n_frequencies]), np.array([1]))
    return graph.op("Cos", angles) @ scaled[:n_frequencies] + graph.op("Sin", sines) @ scaled[n_frequencies:]


# ----------------------------------------------------------------------------------------------------------- tables


def _interpolated(graph, X, points, tables):
    """Sums over columns of functions that are linear between ascending points, and constant beyond their ends.

    Parameters
    ----------
    points : (d, T)
    tables : (d, T, P), the functions at the points
    """
    most = points.shape[1] - 2

    def step(body, total, x, at, table):
        x = body.column(x)
        below = body.cast(body.op("GreaterOrEqual", x, at), "INT64")
        place = body.op("ReduceSum", below, np.array([1]), keepdims=0) - 1
        place = body.clipped(place, 0, most)
        left, right = (body.column(body.op("Gather", at, each)) for each in (place, place + 1))
        weight = body.clipped(body.share(x - left, right - left, 0.0), 0.0, 1.0)
        low, high = (body.op("Gather", table, each) for each in (place, place + 1))
        return total + low + weight * (high - low)

    return graph.over_columns(X, [points, tables], tables.shape[2], step)


def _tabulated(graph, predictor, X):
    tables = predictor.tables if predictor.tables.ndim == 4 else predictor.tables[..., None]
    positive = _interpolated(graph, graph.op("Max", X, 0.0), predictor.points, tables[0])
    if len(tables) == 1:
        return positive
    return positive + _interpolated(graph, graph.op("Max", -X, 0.0), predictor.points, tables[1])


def _on_grid(graph, predictor, X):
    if type(predictor.kernel) is not Intersection or predictor.n_neighbors != 2:
        raise InputError(
            f"to_onnx supports grids of the intersection with two neighbors, not of {predictor.kernel!r} with "
            f"{predictor.n_neighbors}. Use map=HomogeneousMap or NystroemMap(kernel, per_dimension=True)."
        )
    d, v = predictor.n_features_in_, _wide(predictor.v)
    points = np.tile(np.concatenate([[0.0], predictor.grid]), (d, 1))
    tables = np.pad(v.reshape(d, -1, v.shape[1]), ((0, 0), (1, 0), (0, 0)))
    positive = _interpolated(graph, graph.op("Max", X, 0.0), points, tables)
    if not predictor.kernel.signed:
        return positive
    return positive - _interpolated(graph, graph.op("Max", -X, 0.0), points, tables)


def _levels(graph, quantizer, v, X):
    if quantizer.is_sparse_ or quantizer.rule_ == "adaptive":
        what = "fitted to sparse rows" if quantizer.is_sparse_ else "with adaptive bins"
        raise InputError(f"to_onnx cannot write a LevelQuantizer {what}. Use dense rows and binning='column'.")
    counts = np.diff(quantizer.starts_)
    tops = np.minimum(quantizer.n_bins_, counts - 1).astype(np.float64)
    tables = np.zeros((len(counts), int(counts.max()), v.shape[1]))
    for j, (start, end) in enumerate(zip(quantizer.starts_, quantizer.starts_[1:], strict=False)):
        tables[j, : end - start] = v[start:end]
    is_flat = quantizer.widths_ <= 0
    scaled = float(quantizer.n_bins_) * (X - quantizer.lows_) / np.where(is_flat, 1.0, quantizer.widths_)
    levels = graph.clipped(scaled, 0.0, np.where(is_flat, 0.0, tops))

    def step(body, total, level, table):
        return total + body.op("Gather", table, body.cast(body.op("Floor", level), "INT64"))

    return graph.over_columns(levels, [tables], v.shape[1], step)


# ------------------------------------------------------------------------------------------------------------ codes


def _coded(graph, predictor, X):
    quantizer, u = predictor.quantizer, _wide(predictor.u)
    if not isinstance(quantizer.kernel_, Linear):
        raise InputError("to_onnx cannot write codes of a kernel that is not linear. Use a map instead of codes.")
    rotation = quantizer.rotation_
    if rotation is not None:
        X = graph.op("Gather", X, rotation, axis=1) if rotation.ndim == 1 else X @ rotation.T
    total, start = None, 0
    for words in quantizer.codebooks_:
        words, end = words.astype(np.float64), start + words.shape[1]
        part = graph.op("Slice", X, np.array([start]), np.array([end]), np.array([1]))
        distances = 0.5 * np.square(words).sum(axis=1) - part @ words.T
        word = graph.op("ArgMin", distances, axis=1, keepdims=0)
        found = graph.op("Gather", words @ u[start:end], word)
        total, start = found if total is None else total + found, end
    return total


# ------------------------------------------------------------------------------------------------------ what surrounds


def _reduced(graph, predictor, X):
    matrix = np.zeros((len(predictor.groups), len(predictor.factors)))
    kept = np.flatnonzero(predictor.groups >= 0)
    matrix[kept, predictor.groups[kept]] = predictor.factors[predictor.groups[kept]]
    return scores_of(graph, predictor.predictor, X @ matrix)


def _scaled(graph, predictor, X):
    scaled = _scaling(graph, predictor.scaling, X)
    if needs_non_negative(lambda: predictor.predictor.kernel):
        scaled = graph.op("Max", scaled, 0.0)
    return scores_of(graph, predictor.predictor, scaled)


def _scaling(graph, scaling, X):
    if scaling.kind == "rows":
        X = X * graph.share(1.0, abs(graph.row_sums(X)), 0.0)
    elif scaling.kind == "ranks":
        X = _ranks(graph, scaling.points_, X)
    elif scaling.width_ is not None:
        X = (X - scaling.center_) / scaling.width_
        X = graph.clipped(X, 0.0, 1.0) if scaling.kind == "unit" else X
    return X if scaling.weights_ is None else X * scaling.weights_


def _ranks(graph, points, X):
    """Each column by itself, interpolated between quantiles; equal ones share the mean of their ranks."""
    steps, parts = points.shape[1] - 1, []
    for j, own in enumerate(points):
        values, first = np.unique(own, return_index=True)
        last = np.append(first[1:], len(own)) - 1
        ranks = (first + last) / 2 / steps
        if len(values) == 1:
            values, ranks = np.repeat(values, 2), np.repeat(ranks, 2)
        column = graph.op("Slice", X, np.array([j]), np.array([j + 1]), np.array([1]))
        parts.append(_interpolated(graph, column, values[None], ranks[None, :, None]))
    return graph.op("Concat", *parts, axis=1)


def _panel(graph, predictor, X):
    total = None
    for part in predictor.parts:
        found = scores_of(graph, part, X)
        total = found if total is None else total + found
    return total


def _wide(v):
    """Weights as float64 with a column for each score."""
    return np.asarray(v, dtype=np.float64).reshape(len(v), -1)


MAPS = {HomogeneousMap: _homogeneous, FourierMap: _fourier, LevelQuantizer: _levels}
SCORES = {
    LandmarkPredictor: _landmarks,
    MapPredictor: _mapped,
    GridPredictor: _on_grid,
    TablePredictor: _tabulated,
    CodePredictor: _coded,
    ReducedPredictor: _reduced,
    ScaledPredictor: _scaled,
    PanelPredictor: _panel,
}
REASONS = {
    "CellPredictor": ", because it has a separate machine for every cell of the space. Name a kernel, or fit at most "
    "10,000 rows",
}
