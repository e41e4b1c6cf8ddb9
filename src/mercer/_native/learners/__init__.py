"""Loops of solvers: losses, their smoothed forms, products with cutting planes; coordinate descent in `descent`."""
