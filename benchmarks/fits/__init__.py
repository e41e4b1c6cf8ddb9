"""Scripts that produce the fitted constants in ``src/mercer``; each prints what the source file contains."""
