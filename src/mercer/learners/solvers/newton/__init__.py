"""Newton's method, on smoothed losses where needed."""
