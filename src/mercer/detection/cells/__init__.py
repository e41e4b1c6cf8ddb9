"""Cells of oriented gradients: codebook, storage, pyramids, features of all training images."""
