"""Transformers with phi(x)' H phi(y) ~ K(x, y): explicit, sparse and random feature maps."""

from mercer.maps.base import FeatureMap
from mercer.maps.grids.sparse_additive import SparseAdditiveMap
from mercer.maps.landmarks.kpca import KernelPCA
from mercer.maps.landmarks.nystroem import NystroemMap
from mercer.maps.landmarks.sparse import SparseMap
from mercer.maps.minhash import WeightedMinHash
from mercer.maps.projected import ProjectedMap
from mercer.maps.reduction.estimator import ConvexReduction
from mercer.maps.reduction.reduced_columns import ReducedPredictor
from mercer.maps.report import ApproximationReport, approximation_report
from mercer.maps.spectral.fourier import FourierMap
from mercer.maps.spectral.homogeneous import HomogeneousMap
from mercer.maps.tables import TablePredictor

# name on the command line -> class
MAPS = {
    "homogeneous": HomogeneousMap,
    "nystroem": NystroemMap,
    "kpca": KernelPCA,
    "sparse-additive": SparseAdditiveMap,
    "sparse": SparseMap,
    "fourier": FourierMap,
    "minhash": WeightedMinHash,
    "projected": ProjectedMap,
    "reduction": ConvexReduction,
}

__all__ = [
    "MAPS",
    "ApproximationReport",
    "ConvexReduction",
    "FeatureMap",
    "FourierMap",
    "HomogeneousMap",
    "KernelPCA",
    "NystroemMap",
    "ProjectedMap",
    "ReducedPredictor",
    "SparseAdditiveMap",
    "SparseMap",
    "TablePredictor",
    "WeightedMinHash",
    "approximation_report",
]
