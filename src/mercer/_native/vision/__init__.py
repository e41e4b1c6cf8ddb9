"""Loops of image descriptors: HOG, dense SIFT, census transforms."""
