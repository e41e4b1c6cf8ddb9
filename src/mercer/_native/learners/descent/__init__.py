"""Dual coordinate descent, one loop per kind of rows; what they share is in `sweep`."""
