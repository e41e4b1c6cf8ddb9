"""Cutting planes with a bundle: planes, the small dual, line search, and the side of the rows."""
