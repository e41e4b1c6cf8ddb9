"""Newton's method on many landmarks, preconditioned by the landmarks themselves."""
