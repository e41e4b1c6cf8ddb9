"""Rows that need not fit in memory: from files, parquet, vector files and Dask, block by block."""
