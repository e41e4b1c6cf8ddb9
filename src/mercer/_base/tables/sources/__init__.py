"""Rows that need not fit into memory: from files, parquet, vector files and Dask, block by block."""
