"""Storage in a directory: order of writes, catalogue, files, segments."""
