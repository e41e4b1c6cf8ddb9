"""Loops of detection: words of cells, filters, placement of parts, rows of words."""
