"""``mercer map``, and building a map from options."""
