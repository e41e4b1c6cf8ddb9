"""Solvers: what each is given and returns, which one is chosen, and the solvers themselves."""
