"""Search among spectra: blocks of peaks sorted by mass, in memory or in a directory."""
