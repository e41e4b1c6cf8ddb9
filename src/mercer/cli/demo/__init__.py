"""``mercer demo`` and its picture."""
