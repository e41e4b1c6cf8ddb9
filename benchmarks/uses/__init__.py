"""Worked examples on real data: the numbers behind the pages of the gallery."""
