"""Published tables and figures, measured again."""
