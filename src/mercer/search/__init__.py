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

from mercer.search._exact import Certificate
from mercer.search._index import KernelIndex
from mercer.search._model import SearchModel
from mercer.search._oracle import exact_knn
from mercer.search._recall import recall_1_at, recall_k_at, recall_table
from mercer.search._store_index import StoreIndex
