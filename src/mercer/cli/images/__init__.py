"""``mercer images``: one file per verb, and the report of ``mercer images train``."""
