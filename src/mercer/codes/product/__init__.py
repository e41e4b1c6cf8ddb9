"""Product quantization: the estimator, its training, and scores from codes."""
