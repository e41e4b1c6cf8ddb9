"""Word counts and compositions."""
