"""Tables and figures of [vedaldi12sparse], one file each."""
