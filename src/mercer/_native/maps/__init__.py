"""Loops of feature maps."""
