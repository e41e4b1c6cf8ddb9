"""Loops of codes: values to levels, projections to bits."""
