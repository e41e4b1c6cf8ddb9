"""How good a search is: recall, an index judged by its codes, after re-ranking and by its time, and pictures of it."""
