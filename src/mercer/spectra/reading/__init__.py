"""Files of spectra, as instruments and libraries write them."""
