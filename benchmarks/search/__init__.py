"""Accuracy and cost of feature maps against the exact kernels."""
