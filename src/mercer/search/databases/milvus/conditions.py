"""A condition on columns as an expression of Milvus, and values as its fields keep them.

Names of fields are letters, digits and underscores; values are written as literals that `literal` escapes. Milvus lets
rows without a value through ``not in``, so every negated leaf asks for a value as well.
"""

__all__ = ["as_expression", "as_field"]

from datetime import date, datetime

from mercer._base.errors import InputError
from mercer.search.conditions.evaluation import stored_value
from mercer.search.conditions.tree import All, Among, Any, Compare, Like, Missing
from mercer.search.databases.milvus.session import literal


def as_field(value):
    """A value as a field of Milvus keeps it: dates and timestamps as the numbers that a storage keeps."""
    return stored_value(value) if isinstance(value, (date, datetime)) else value


def as_expression(tree):
    """The expression of a tree.

    >>> from mercer.search.columns.types import DataColumn
    >>> print(as_expression(Like(DataColumn("mode", "text"), "pos%", negated=True)))
    (mode is not null and not (mode like "pos%"))
    """
    if isinstance(tree, (All, Any)):
        joint = " and " if isinstance(tree, All) else " or "
        return f"({joint.join(map(as_expression, tree.parts))})"
    name = tree.column.name
    if isinstance(tree, Missing):
        return f"{name} is not null" if tree.negated else f"{name} is null"
    if isinstance(tree, Compare):
        operator = "==" if tree.operator == "=" else tree.operator
        found = f"{name} {operator} {_shown(tree.value)}"
    elif isinstance(tree, Like):
        if "\\" in tree.pattern:  # a letter of ours; in Milvus it takes the meaning of the next one, if not at the end
            raise InputError(f"Milvus does not support a backslash in a like pattern; got {tree.pattern!r:.80}.")
        found = f"{name} like {literal(tree.pattern)}"
    else:
        assert isinstance(tree, Among)
        found = f"{name} in [{', '.join(map(_shown, tree.values))}]"
    negated = getattr(tree, "negated", False)
    return f"({name} is not null and {f'not ({found})' if negated else found})"


def _shown(value):
    return literal(as_field(value))
