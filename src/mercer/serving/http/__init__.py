"""HTTP: the application, bodies and answers, limits, tokens, headers, the page."""
