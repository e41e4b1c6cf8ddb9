"""Tools of a field, against those that are in use there."""
