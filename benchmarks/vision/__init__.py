"""Descriptions of images: speed, and agreement with what they approximate."""
