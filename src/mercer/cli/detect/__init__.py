"""``mercer detect``: one file per verb."""
