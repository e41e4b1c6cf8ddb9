"""The fitted part of an index: embedding and code, how they are chosen, and what near means."""
