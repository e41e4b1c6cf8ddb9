"""Exact kernels: the ground truth of every approximation. Dense and CSR, float32 and float64, safe at zero."""

from mercer.kernels.additive import (
    Chi2,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    PowerMean,
)
from mercer.kernels.base import Kernel
from mercer.kernels.compose import CallableKernel, NormalizedKernel, ProductKernel, SumKernel
from mercer.kernels.exponential import RBF, ExpChi2, Exponential, Laplacian
from mercer.kernels.matches import MatrixSummary, best_matches
from mercer.kernels.ratios import BrayCurtis, DotTanimoto, MinMax
from mercer.kernels.registry import KERNELS, TakesKernel, get_kernel, in_words, needs_non_negative
from mercer.kernels.universal_rbf import UniversalRBF
from mercer.kernels.widths import closed, resolve_kernel

__all__ = [
    "KERNELS",
    "RBF",
    "BrayCurtis",
    "CallableKernel",
    "Chi2",
    "DotTanimoto",
    "ExpChi2",
    "Exponential",
    "GeneralizedIntersection",
    "Hellinger",
    "Intersection",
    "JensenShannon",
    "Kernel",
    "Laplacian",
    "Linear",
    "MatrixSummary",
    "MinMax",
    "NormalizedKernel",
    "PowerMean",
    "ProductKernel",
    "SumKernel",
    "TakesKernel",
    "UniversalRBF",
    "best_matches",
    "closed",
    "get_kernel",
    "in_words",
    "needs_non_negative",
    "resolve_kernel",
]
