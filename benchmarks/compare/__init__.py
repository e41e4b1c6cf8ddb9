"""Mercer against other packages at the same job."""
