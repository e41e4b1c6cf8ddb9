"""``mercer wire``: one file per verb."""
