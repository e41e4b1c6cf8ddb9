"""Fitting on the workers of a Dask cluster: rows as cutting planes see them, and their groups."""
