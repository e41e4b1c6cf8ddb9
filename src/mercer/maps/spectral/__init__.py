"""Maps from the spectrum of a kernel: homogeneous maps and random Fourier features."""
