"""Squared loss on kernel values: on landmarks, on all rows in closed form, and on all rows by steps."""
