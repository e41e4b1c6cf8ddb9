"""Nearest neighbours under a kernel: recall, exact answers, speed."""
