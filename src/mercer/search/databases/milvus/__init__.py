"""Milvus: the store, its registry, its client."""
