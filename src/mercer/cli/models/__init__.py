"""Verbs that make or use a model of rows: fit, predict, evaluate, encode."""
