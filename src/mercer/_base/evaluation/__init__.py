"""How good predictions are: figures of merit, intervals, and their pictures."""
