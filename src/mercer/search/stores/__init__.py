"""Stores: what finds the rows nearest to an embedded query. One protocol, one file per adapter."""

from mercer.search.stores._codes import CodeStore
from mercer.search.stores._faiss import FaissStore
from mercer.search.stores._protocol import VectorStore

__all__ = ["CodeStore", "FaissStore", "VectorStore"]
