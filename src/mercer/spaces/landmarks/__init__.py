"""Rows that are compared with landmarks in every pass, and the inner product of such features."""
