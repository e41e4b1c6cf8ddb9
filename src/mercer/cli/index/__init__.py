"""``mercer index``: one file per verb; what several of them need is in ``parts``."""
