"""Columns beside the rows of an index: their types, tables on their way in, and data frames on their way out."""
