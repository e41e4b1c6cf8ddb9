"""Conditions on the columns of an index: a small grammar, the tree that it is parsed to, and its evaluation."""

__all__ = ["parse_condition"]

from mercer.search.conditions.parsing import parse_condition
