"""Which columns of a table play which part: features, label, id, and those that are left out.

Columns of a table with names are matched by name with those that a model was fitted on, whatever their order. Without
names on either side, positions decide.
"""

__all__ = ["Chosen", "Features", "choose_columns", "column_position", "features_of", "keep_columns", "listed"]

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mercer._base.errors import InputError
from mercer._base.files.steps import takes_missing
from mercer._base.tables.rules import ArgumentError, InputRules

_MOST_LISTED = 12  # names in a message


@dataclass(frozen=True)
class Features:
    """What a model knows of the table it was fitted on.

    Attributes
    ----------
    names : of its features in their order, or None
    n : how many they are, or None
    others : names of further columns of that table: label, id, and what was dropped
    means : of its features, if missing values are to be filled with them, or None
    takes_missing : whether the model fills missing values itself, as a pipeline with an imputer does
    table : name of the table that these are the columns of, if there is no model but another table; or None
    data : names of columns that are kept beside the features, as an index does
    fingerprints : what makes the features of molecules, if the model is one of molecules; or None
    """

    names: tuple[str, ...] | None = None
    n: int | None = None
    others: tuple[str, ...] = ()
    means: Any = None
    takes_missing: bool = False
    table: str | None = None
    data: tuple[str, ...] = ()
    fingerprints: Any = None


@dataclass(frozen=True)
class Chosen:
    """Positions of the columns of a table that are used, and names.

    Attributes
    ----------
    features : positions in the order of the features
    names : of the features, or None
    label, id : positions, or None
    others : names of the columns that are no features
    kept : positions of those of them that go along
    """

    features: Sequence[int]
    names: tuple[str, ...] | None
    label: int | None
    id: int | None
    others: tuple[str, ...]
    kept: tuple[int, ...] = ()


def features_of(model: Any) -> Features:
    """The columns of a fitted model or of rows that were opened; a Features object is itself."""
    if model is None or isinstance(model, Features):
        return model or Features()
    if hasattr(model, "feature_names"):  # a source of rows
        return Features(model.feature_names, model.shape[1], model.other_columns, model.means, table=model.name)
    fitted = getattr(model, "model_", model)  # what an index was fitted with
    names = getattr(fitted, "feature_names_in_", None)
    return Features(
        None if names is None else tuple(map(str, names)),
        getattr(fitted, "n_features_in_", None),
        tuple(getattr(fitted, "other_columns_", ())),
        getattr(fitted, "feature_means_", None),
        takes_missing(fitted),
        data=_columns_beside(model),
    )


def _columns_beside(model: Any) -> tuple[str, ...]:
    """The columns that an index keeps beside its rows; a learner means something else by the word."""
    columns = getattr(model, "columns_", None)
    return tuple(columns) if isinstance(columns, dict) else ()


def keep_columns(model: Any, rows: Any) -> None:
    """Let a model that was fitted to these rows know their columns, as attributes that a model file keeps."""
    import numpy as np

    fitted = getattr(model, "model_", model)
    if rows.feature_names is not None:
        fitted.feature_names_in_ = np.array(rows.feature_names, dtype=object)
        fitted.other_columns_ = list(rows.other_columns)
    if rows.means is not None:
        fitted.feature_means_ = np.asarray(rows.means, dtype=np.float64)


def choose_columns(names: Sequence[str] | None, n_columns: int, rules: InputRules, source: str) -> Chosen:
    """What is asked of a table with these columns.

    >>> chosen = choose_columns(["b", "kind", "a"], 3, InputRules(like=Features(("a", "b"), 2, ("kind",))), "new.csv")
    >>> chosen.features, chosen.others
    ((2, 0), ('kind',))
    """
    label = _position(rules.label, names, n_columns, source)
    id = _position(rules.id, names, n_columns, source)
    if label is not None and label == id:
        raise ArgumentError(f"{source}: column {_title(label, names)} cannot be both the label and the id.")
    kept = _kept(names, n_columns, rules, source)
    if {label, id} & set(kept):
        raise ArgumentError(f"{source}: a kept column cannot be the label or the id.")
    out = {column_position(each, names, n_columns, source) for each in rules.drop} | {label, id, *kept}
    if rules.columns:
        wanted = [column_position(each, names, n_columns, source) for each in rules.columns]
        twice = next((i for i in wanted if i in out or wanted.count(i) > 1), None)
        if twice is not None:
            raise ArgumentError(f"{source}: column {_title(twice, names)} is named more than once.")
    elif names is None and out == {None}:
        return Chosen(range(n_columns), None, None, None, ())  # however many they are
    else:
        wanted = [i for i in range(n_columns) if i not in out]
    if names is None:
        return Chosen(tuple(wanted), None, label, id, ())
    known = features_of(rules.like)
    if known.names is not None:
        wanted = _matched(wanted, names, known, source)
    _refuse_twins([names[i] for i in wanted], names, source)
    chosen = set(wanted)
    others = tuple(name for i, name in enumerate(names) if i not in chosen)
    return Chosen(tuple(wanted), tuple(names[i] for i in wanted), label, id, others, kept)


def _kept(names, n_columns: int, rules: InputRules, source: str) -> tuple[int, ...]:
    """Columns that go along: those that are said or, if nothing is said, those of the model that are there."""
    if names is None and rules.keep:
        raise ArgumentError(f"{source} has no column names, which --keep requires.")
    if rules.keep:
        return tuple(dict.fromkeys(column_position(each, names, n_columns, source) for each in rules.keep))
    known = features_of(rules.like)
    wanted = set(known.data) - set(known.names or ())
    said = {rules.label, rules.id, *rules.drop, *rules.columns}
    return tuple(i for i, name in enumerate(names or ()) if name in wanted - said)


def column_position(column: str | int, names: Sequence[str] | None, n_columns: int, source: str) -> int:
    """The column that is meant: a name first, then a position.

    >>> column_position("-1", None, 5, "data.npy")
    4
    """
    matches = [i for i, name in enumerate(names or ()) if name == column]
    if len(matches) > 1:
        raise ArgumentError(f"{source} has {len(matches)} columns named {column!r}. Use its position instead.")
    if matches:
        return matches[0]
    try:
        position = int(column)
    except ValueError:
        known = f"its columns are {listed(names)}" if names else "its columns have no names, so use a position"
        raise ArgumentError(f"{source} has no column named {column!r}; {known}.") from None
    if not -n_columns <= position < n_columns:
        raise ArgumentError(f"{source} has {n_columns} columns; there is no column {position}.")
    return position % n_columns


def listed(names: Sequence[str], most: int = _MOST_LISTED) -> str:
    """Names in quotes, the first of many.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _position(column: str | int | None, names, n_columns: int, source: str) -> int | None:
    return None if column is None else column_position(column, names, n_columns, source)


def _title(position: int, names: Sequence[str] | None) -> str:
    return str(position) if names is None else f"{position} ({names[position]!r})"


def _matched(wanted: list[int], names: Sequence[str], known: Features, source: str) -> list[int]:
    """Positions in the order of the model's features; refused by name where they do not fit."""
    assert known.names is not None
    here = {names[i]: i for i in wanted}
    missing = [name for name in known.names if name not in here]
    expected = {*known.names, *known.others}
    unknown = [name for name in here if name not in expected]
    if known.table is not None and (missing or unknown):
        raise _other_table(missing, unknown, known.table, source)
    if missing:
        there = f"; it has {listed(unknown)} instead" if unknown else ""
        raise InputError(
            f"{source} does not have the {_columns(missing)} that the model was fitted on{there}. Rename or add "
            "columns, or pass a table without column names to match columns by position."
        )
    if unknown:
        drop = " ".join(f"--drop {name!r}" if " " in name or not name else f"--drop {name}" for name in unknown[:3])
        raise InputError(
            f"{source} has the {_columns(unknown)} that the model was not fitted on. Ignore columns that are not "
            f"features, as in {drop}."
        )
    _refuse_twins([names[i] for i in wanted if names[i] in set(known.names)], names, source)
    return [here[name] for name in known.names]


def _other_table(missing: list[str], unknown: list[str], table: str, source: str) -> InputError:
    """Two tables that are compared have other columns; --drop holds for both and cannot leave out what one has."""
    if missing:
        there = f"; it has {listed(unknown)} instead" if unknown else ""
        differs = f"does not have the {_columns(missing)} of {table}{there}"
    else:
        differs = f"has the {_columns(unknown)}, which {table} does not have"
    return InputError(f"{source} {differs}. Rename columns, or name the common columns with --columns.")


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' if len(names) > 1 else ''} {listed(names)}"


def _refuse_twins(chosen: Sequence[str], names: Sequence[str], source: str) -> None:
    twins = [name for name, count in Counter(chosen).items() if count > 1]
    if twins:
        last = len(names) - 1 - list(reversed(names)).index(twins[0])
        raise InputError(
            f"{source} has duplicate column names: {listed(twins)}. Rename them, or ignore one by its position, as in "
            f"--drop {last}."
        )
