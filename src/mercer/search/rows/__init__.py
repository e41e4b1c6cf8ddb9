"""The rows of an index: ids, kept vectors, and the collection that holds them together."""
