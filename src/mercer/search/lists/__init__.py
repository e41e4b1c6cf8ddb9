"""Exact search of sparse rows by inverted lists: which kernels, the lists themselves, and the search among them."""
