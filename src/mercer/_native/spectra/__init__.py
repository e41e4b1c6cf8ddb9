"""Loops over the peaks of mass spectra."""
