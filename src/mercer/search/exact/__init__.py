"""Exact search: bounds and certificates, brute force as the oracle, final order."""
