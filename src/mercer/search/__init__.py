"""Nearest neighbours under a kernel: encoded rows in few bytes, exact answers on request, an index that survives."""

__all__ = [
    "Certificate",
    "KernelIndex",
    "SearchModel",
    "StoreIndex",
    "exact_knn",
    "recall_1_at",
    "recall_k_at",
    "recall_table",
]

from mercer.search.databases.index import StoreIndex
from mercer.search.exact.oracle import exact_knn
from mercer.search.exact.recall import recall_1_at, recall_k_at, recall_table
from mercer.search.exact.search import Certificate
from mercer.search.index import KernelIndex
from mercer.search.model.model import SearchModel
