"""Rows as bits that are compared by Hamming distance: sign hashes, KLSH, RMMH."""
