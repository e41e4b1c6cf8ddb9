"""Hits as pictures: mirror plots, and a report of one page."""
