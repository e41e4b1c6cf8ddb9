"""``mercer spectra``: libraries of mass spectra, and what they say of others."""
