"""Mercer: non-linear kernels at linear cost.

Names load on first use, so that ``import mercer`` costs nothing.
"""

# ruff: noqa: I001 (one import for each module, though every name is exported by `as`)

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see of the names that load on first use
    from mercer._base.errors import (
        InputError as InputError,
        MercerError as MercerError,
        ModelFileError as ModelFileError,
    )
    from mercer._base.files.models import (
        load as load,
        save as save,
    )
    from mercer._base.tables import (
        open_rows as open_rows,
    )
    from mercer._base.threads import (
        thread_limit as thread_limit,
    )
    from mercer.codes import (
        CodePredictor as CodePredictor,
        CompactEmbedding as CompactEmbedding,
        hamming_top_k as hamming_top_k,
        KLSH as KLSH,
        LevelQuantizer as LevelQuantizer,
        ProductQuantizer as ProductQuantizer,
        QuantizedJL as QuantizedJL,
        RMMH as RMMH,
        SignHash as SignHash,
        Specification as Specification,
        UniversalEmbedding as UniversalEmbedding,
    )
    from mercer.detection import (
        PartDetector as PartDetector,
        read_boxes as read_boxes,
    )
    from mercer.features import (
        MoleculeFingerprints as MoleculeFingerprints,
        SpectralEntropyWeighting as SpectralEntropyWeighting,
    )
    from mercer.kernels import (
        BrayCurtis as BrayCurtis,
        CallableKernel as CallableKernel,
        Chi2 as Chi2,
        DotTanimoto as DotTanimoto,
        ExpChi2 as ExpChi2,
        Exponential as Exponential,
        GeneralizedIntersection as GeneralizedIntersection,
        get_kernel as get_kernel,
        Hellinger as Hellinger,
        Intersection as Intersection,
        JensenShannon as JensenShannon,
        Laplacian as Laplacian,
        Linear as Linear,
        MinMax as MinMax,
        NormalizedKernel as NormalizedKernel,
        PowerMean as PowerMean,
        ProductKernel as ProductKernel,
        RBF as RBF,
        SumKernel as SumKernel,
        UniversalRBF as UniversalRBF,
    )
    from mercer.learners import (
        ColumnScaling as ColumnScaling,
        IntersectionSVC as IntersectionSVC,
        IntersectionSVR as IntersectionSVR,
        KernelClassifier as KernelClassifier,
        KernelClassifierCV as KernelClassifierCV,
        KernelRegressor as KernelRegressor,
        PanelPredictor as PanelPredictor,
        Plan as Plan,
        ScaledPredictor as ScaledPredictor,
        SoftmaxLink as SoftmaxLink,
        TrialPlan as TrialPlan,
    )
    from mercer.learners.export import (
        to_onnx as to_onnx,
    )
    from mercer.maps import (
        approximation_report as approximation_report,
        ApproximationReport as ApproximationReport,
        ConvexReduction as ConvexReduction,
        FourierMap as FourierMap,
        HomogeneousMap as HomogeneousMap,
        KernelPCA as KernelPCA,
        NystroemMap as NystroemMap,
        ProjectedMap as ProjectedMap,
        ReducedPredictor as ReducedPredictor,
        SparseAdditiveMap as SparseAdditiveMap,
        SparseMap as SparseMap,
        TablePredictor as TablePredictor,
        WeightedMinHash as WeightedMinHash,
    )
    from mercer.search import (
        exact_knn as exact_knn,
        KernelIndex as KernelIndex,
        KernelNeighbors as KernelNeighbors,
        neighbor_graph as neighbor_graph,
        SearchModel as SearchModel,
        StoreIndex as StoreIndex,
    )
    from mercer.serving import (
        Client as Client,
        rate_accuracy as rate_accuracy,
        WireClassifier as WireClassifier,
    )
    from mercer.spaces import (
        as_rows as as_rows,
        BitRows as BitRows,
        block_diag as block_diag,
        BlockDiagonal as BlockDiagonal,
        BlockFactor as BlockFactor,
        CellPredictor as CellPredictor,
        CellTree as CellTree,
        CodeRows as CodeRows,
        CSRRows as CSRRows,
        CumulativeSum as CumulativeSum,
        DecodedRows as DecodedRows,
        DenseRows as DenseRows,
        Design as Design,
        Factor as Factor,
        GridPredictor as GridPredictor,
        hstack as hstack,
        Identity as Identity,
        LandmarkPredictor as LandmarkPredictor,
        MapPredictor as MapPredictor,
        SignedWords as SignedWords,
    )
    from mercer.vision import (
        BagOfWords as BagOfWords,
        CENTRIST as CENTRIST,
        ColorHistogram as ColorHistogram,
        DenseSIFT as DenseSIFT,
        Downscaled as Downscaled,
        FisherVectors as FisherVectors,
        HOG as HOG,
        ImageClassifier as ImageClassifier,
        LocalCENTRIST as LocalCENTRIST,
        Vocabulary as Vocabulary,
    )

__version__ = "0.2.0"

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


def __getattr__(name: str) -> Any:
    module = _NAMES.get(name)
    if module is None:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
