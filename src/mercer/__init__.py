"""Mercer: non-linear kernels at linear cost.

Names load on first use, so that ``import mercer`` costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

# public name -> the module that defines it; also the list of classes that a model file may name
_NAMES = {
    "BrayCurtis": "mercer.kernels",
    "CallableKernel": "mercer.kernels",
    "Chi2": "mercer.kernels",
    "DotTanimoto": "mercer.kernels",
    "ExpChi2": "mercer.kernels",
    "Exponential": "mercer.kernels",
    "GeneralizedIntersection": "mercer.kernels",
    "Hellinger": "mercer.kernels",
    "Intersection": "mercer.kernels",
    "JensenShannon": "mercer.kernels",
    "Laplacian": "mercer.kernels",
    "Linear": "mercer.kernels",
    "MinMax": "mercer.kernels",
    "NormalizedKernel": "mercer.kernels",
    "PowerMean": "mercer.kernels",
    "ProductKernel": "mercer.kernels",
    "RBF": "mercer.kernels",
    "SumKernel": "mercer.kernels",
    "UniversalRBF": "mercer.kernels",
    "get_kernel": "mercer.kernels",
    "BitRows": "mercer.spaces",
    "BlockDiagonal": "mercer.spaces",
    "BlockFactor": "mercer.spaces",
    "CSRRows": "mercer.spaces",
    "CellPredictor": "mercer.spaces",
    "CellTree": "mercer.spaces",
    "CodeRows": "mercer.spaces",
    "CumulativeSum": "mercer.spaces",
    "DecodedRows": "mercer.spaces",
    "DenseRows": "mercer.spaces",
    "Design": "mercer.spaces",
    "Factor": "mercer.spaces",
    "GridPredictor": "mercer.spaces",
    "Identity": "mercer.spaces",
    "LandmarkPredictor": "mercer.spaces",
    "MapPredictor": "mercer.spaces",
    "SignedWords": "mercer.spaces",
    "as_rows": "mercer.spaces",
    "block_diag": "mercer.spaces",
    "hstack": "mercer.spaces",
    "ApproximationReport": "mercer.maps",
    "ConvexReduction": "mercer.maps",
    "FourierMap": "mercer.maps",
    "HomogeneousMap": "mercer.maps",
    "KernelPCA": "mercer.maps",
    "NystroemMap": "mercer.maps",
    "ProjectedMap": "mercer.maps",
    "ReducedPredictor": "mercer.maps",
    "SparseAdditiveMap": "mercer.maps",
    "SparseMap": "mercer.maps",
    "TablePredictor": "mercer.maps",
    "WeightedMinHash": "mercer.maps",
    "approximation_report": "mercer.maps",
    "CodePredictor": "mercer.codes",
    "CompactEmbedding": "mercer.codes",
    "KLSH": "mercer.codes",
    "LevelQuantizer": "mercer.codes",
    "ProductQuantizer": "mercer.codes",
    "QuantizedJL": "mercer.codes",
    "RMMH": "mercer.codes",
    "SignHash": "mercer.codes",
    "Specification": "mercer.codes",
    "UniversalEmbedding": "mercer.codes",
    "hamming_top_k": "mercer.codes",
    "IntersectionSVC": "mercer.learners",
    "IntersectionSVR": "mercer.learners",
    "ColumnScaling": "mercer.learners",
    "KernelClassifier": "mercer.learners",
    "KernelClassifierCV": "mercer.learners",
    "KernelRegressor": "mercer.learners",
    "Plan": "mercer.learners",
    "PanelPredictor": "mercer.learners",
    "ScaledPredictor": "mercer.learners",
    "SoftmaxLink": "mercer.learners",
    "TrialPlan": "mercer.learners",
    "to_onnx": "mercer.learners.export",
    "KernelIndex": "mercer.search",
    "KernelNeighbors": "mercer.search",
    "SearchModel": "mercer.search",
    "StoreIndex": "mercer.search",
    "exact_knn": "mercer.search",
    "neighbor_graph": "mercer.search",
    "MoleculeFingerprints": "mercer.features",
    "SpectralEntropyWeighting": "mercer.features",
    "BagOfWords": "mercer.vision",
    "CENTRIST": "mercer.vision",
    "ColorHistogram": "mercer.vision",
    "DenseSIFT": "mercer.vision",
    "Downscaled": "mercer.vision",
    "FisherVectors": "mercer.vision",
    "HOG": "mercer.vision",
    "ImageClassifier": "mercer.vision",
    "LocalCENTRIST": "mercer.vision",
    "Vocabulary": "mercer.vision",
    "PartDetector": "mercer.detection",
    "read_boxes": "mercer.detection",
    "Client": "mercer.serving",
    "WireClassifier": "mercer.serving",
    "rate_accuracy": "mercer.serving",
    "load": "mercer._base.files.models",
    "open_rows": "mercer._base.tables",
    "save": "mercer._base.files.models",
    "thread_limit": "mercer._base.threads",
    "InputError": "mercer._base.errors",
    "MercerError": "mercer._base.errors",
    "ModelFileError": "mercer._base.errors",
}

__all__ = ["__version__", *_NAMES]


def __getattr__(name):
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
