"""Loops of exact kernels: formulas of a pair of bins, sums over bins, differences, the best few."""
