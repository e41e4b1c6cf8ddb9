"""Dual coordinate descent for separate problems and for Crammer-Singer."""
