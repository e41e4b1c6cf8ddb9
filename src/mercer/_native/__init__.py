"""All hot loops, compiled by numba, and nothing else: arrays in, arrays out. Customs of the folder: README.md."""
