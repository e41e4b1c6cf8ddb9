"""Between an estimator and its solver: the plan, encoding, targets as columns, probabilities."""
