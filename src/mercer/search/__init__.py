"""Nearest neighbors under a kernel: encoded rows in few bytes, exact answers on request, an index that survives."""

__all__ = [
    "Certificate",
    "IndexEvaluation",
    "KernelIndex",
    "KernelNeighbors",
    "NeighborGraph",
    "SearchModel",
    "SearchQuality",
    "StoreIndex",
    "as_ids",
    "check_new_place",
    "edge_format",
    "evaluate_index",
    "exact_knn",
    "neighbor_graph",
    "plot_recall",
    "recall_1_at",
    "recall_k_at",
    "recall_table",
    "refuse_repeated",
    "row_format",
]

from mercer.search.databases.index import StoreIndex
from mercer.search.evaluation.judging import IndexEvaluation, SearchQuality, evaluate_index
from mercer.search.evaluation.plot import plot_recall
from mercer.search.evaluation.recall import recall_1_at, recall_k_at, recall_table
from mercer.search.exact.oracle import exact_knn
from mercer.search.exact.search import Certificate
from mercer.search.index import KernelIndex
from mercer.search.model.model import SearchModel
from mercer.search.neighbors.files import edge_format, row_format
from mercer.search.neighbors.graph import NeighborGraph, neighbor_graph
from mercer.search.neighbors.transformer import KernelNeighbors
from mercer.search.rows.ids import as_ids, refuse_repeated
from mercer.search.storage.directory.place import check_new_place
