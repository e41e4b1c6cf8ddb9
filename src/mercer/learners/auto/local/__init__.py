"""Local machines for many rows: the space is cut into cells, and each has a machine of its own."""
