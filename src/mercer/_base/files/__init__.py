"""Model files: the container and its checksum, values to JSON and back, which classes may be named, and what is
checked at load.
"""
