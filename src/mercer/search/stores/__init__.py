"""Stores: what finds the rows nearest to an embedded query. One protocol, one file per adapter."""

from mercer.search.stores.codes import CodeStore
from mercer.search.stores.faiss import FaissStore
from mercer.search.stores.fast_scan import FastScanStore
from mercer.search.stores.protocol import VectorStore

__all__ = ["CodeStore", "FaissStore", "FastScanStore", "VectorStore"]
