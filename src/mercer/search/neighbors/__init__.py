"""All rows of an index against each other: the graph of nearest neighbors, as a transformer and as a list of edges."""
