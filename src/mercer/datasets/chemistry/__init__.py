"""Mass spectra and molecules."""
