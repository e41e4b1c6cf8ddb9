"""Which parameters of an index go together; refused by `fit`, in the words of `KernelIndex`."""

__all__ = ["CODES", "check_index", "check_model", "check_oversample"]

from numbers import Integral, Real

import numpy as np

from mercer._base.errors import InputError
from mercer.kernels import get_kernel
from mercer.maps.base import FeatureMap
from mercer.search.model.measure import MEASURES, Measure
from mercer.search.rows.vectors import VECTOR_TYPES

CODES = ("pq", "opq", "lsh", "universal", "flat")
EFFORTS = ("low", "default", "high")
EMBEDDINGS = ("auto", "kpca", "map")


def check_index(index):
    """Refuse a `KernelIndex` whose parameters cannot be."""
    check_model(index)
    check_oversample(index.oversample, "KernelIndex", "oversample=")
    if index.vectors not in VECTOR_TYPES:
        raise InputError(
            f"KernelIndex takes vectors from {', '.join(map(repr, VECTOR_TYPES))}, got {index.vectors!r:.80}."
        )
    n_lists = index.n_lists
    if n_lists != "auto" and (not isinstance(n_lists, Integral) or isinstance(n_lists, bool) or n_lists < 0):
        raise InputError(f"KernelIndex needs n_lists='auto' or a whole number >= 0, got {n_lists!r:.80}.")
    if n_lists not in ("auto", 0) and index.code not in ("pq", "opq"):
        raise InputError(f"KernelIndex keeps inverted lists of codes 'pq' and 'opq', not of {index.code!r}.")


def check_oversample(value, who, name=""):
    """Candidates for each row that is asked for: one or more."""
    if not isinstance(value, Real) or not 1 <= value < np.inf:
        raise InputError(f"{who} needs oversample >= 1, got {name}{value!r:.80}.")


def check_model(model):
    """Refuse a `SearchModel`, or an index, whose embedding and code cannot be."""
    kernel = get_kernel(model.kernel)
    _check_choice("code", model.code, CODES)
    _check_choice("measure", model.measure, MEASURES)
    _check_choice("effort", model.effort, EFFORTS)
    if not isinstance(model.embedding, FeatureMap):
        _check_choice("embedding", model.embedding, EMBEDDINGS)
    for name in ("bytes_per_item", "n_landmarks"):
        _check_count(name, getattr(model, name))
    if model.n_components is not None:
        _check_count("n_components", model.n_components)
    if model.code == "flat" and model.bytes_per_item % 4:
        raise InputError(
            f"KernelIndex(code='flat') keeps float32 numbers: bytes_per_item must be a multiple of 4, got "
            f"{model.bytes_per_item}."
        )
    _check_combination(model, Measure(kernel, model.normalize, model.measure))


def _check_combination(model, measure):
    kernel, is_map = measure.plain, model.embedding == "map"
    if is_map and not (kernel.additive and kernel.homogeneity):
        raise InputError(
            f"KernelIndex(embedding='map') needs an additive, homogeneous kernel, which {kernel!r} is not. Use 'kpca'."
        )
    own = model.embedding.resolved_kernel() if isinstance(model.embedding, FeatureMap) else kernel
    if own not in (kernel, measure.kernel):
        raise InputError(f"KernelIndex(kernel={kernel!r}) was given a map of {own!r}. Give both the same kernel.")
    if model.code in ("lsh", "universal") and measure.levels_norms:
        raise InputError(
            f"KernelIndex(code={model.code!r}) compares directions or distances, and normalize=False with "
            "measure='similarity' asks for inner products. Use code='pq', normalize=True or measure='distance'."
        )
    if model.code == "lsh" and measure.is_distance and not measure.unit_diagonal:
        raise InputError(
            "KernelIndex(code='lsh') compares directions, and normalize=False with measure='distance' asks for "
            "distances of rows of different norms. Use code='pq' or normalize=True."
        )


def _check_choice(name, value, choices):
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"KernelIndex takes {name} from {', '.join(map(repr, choices))}, got {value!r:.80}.")


def _check_count(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InputError(f"KernelIndex needs {name} as a whole number >= 1, got {name}={value!r:.80}.")
