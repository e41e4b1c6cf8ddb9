"""Transformers with phi(x)' H phi(y) ~ K(x, y): explicit, sparse and random feature maps."""

from mercer.maps._fourier import FourierMap
from mercer.maps._homogeneous import HomogeneousMap
from mercer.maps._kpca import KernelPCA
from mercer.maps._minhash import WeightedMinHash
from mercer.maps._nystroem import NystroemMap
from mercer.maps._projected import ProjectedMap
from mercer.maps._reduced_columns import ReducedPredictor
from mercer.maps._reduction import ConvexReduction
from mercer.maps._report import ApproximationReport, approximation_report
from mercer.maps._sparse import SparseMap
from mercer.maps._sparse_additive import SparseAdditiveMap
from mercer.maps._tables import TablePredictor

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
