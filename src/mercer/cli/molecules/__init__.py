"""``mercer molecules``: a file per part of the work."""
