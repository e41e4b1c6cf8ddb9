"""A navigable graph of embedded rows: built, searched, kept beside the rows, and how much of it a search looks at."""
