"""Loops of search: the scan of codes, and dropping rows by bounds."""
