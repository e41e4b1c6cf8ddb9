"""Columns by name: which columns of a request a model takes, and in which order.

A model that was fitted on named columns takes named ones in any order. All of its names must be there, each once. The
other columns of its training table, such as the label or the id, may be there too: they are left out, and the answer
names them. Any further column is refused by its name, as on the command line. Without names on either side columns are
taken by position.
"""

__all__ = [
    "check_columns",
    "filled",
    "named_columns",
    "other_columns",
    "permutation",
    "picker",
    "places_of",
    "shown_names",
]

import json
from collections import Counter
from operator import itemgetter

import numpy as np

from mercer._base.errors import InputError
from mercer._base.tables import features_of
from mercer.serving.http.faults import Fault

_SHOWN, _LONGEST = 5, 40  # names in a sentence; characters of a name


def named_columns(model):
    """The names of the columns that a model or an index was fitted on, or None."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = (getattr(model, "input_", None) or {}).get("names")
    if names is None or len(names) != model.n_features_in_ or len(set(names)) != len(names):
        return None
    return tuple(str(name) for name in names)


def other_columns(model):
    """The names of the columns of its training table that were no features, which a model or an index keeps."""
    return features_of(model).others


def places_of(columns, wanted, width, others=()):
    """(where the wanted columns are among those of a request, names of the others).

    Parameters
    ----------
    columns : list of the names in a request, from JSON
    wanted : names of the model, or None: columns are then taken by position
    width : number of columns that the model takes
    others : names of columns that are left out
    """
    if type(columns) is not list or not all(type(name) is str for name in columns):
        raise Fault(422, "columns", '"columns" must be a list of the names of the columns, each a string.')
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise Fault(422, "columns", f"Column names must be unique; repeated: {shown_names(twice)}.")
    if wanted is None:
        if len(columns) != width:
            message = f"The model has no column names and takes {width} columns by position; got {len(columns)}."
            raise Fault(422, "columns", message)
        return list(range(width)), []
    check_columns(columns, wanted, others)
    where = {name: i for i, name in enumerate(columns)}
    known = set(wanted)
    return [where[name] for name in wanted], [name for name in columns if name not in known]


def check_columns(columns, wanted, others):
    """Refuse columns among which some of the wanted are missing, or that are neither wanted nor others, by name."""
    given, known = set(columns), {*wanted, *others}
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in columns if name not in known]
    if missing:
        told = f" Unknown columns: {shown_names(unknown)}." if unknown else ""
        raise Fault(422, "columns", f"Required columns are missing: {shown_names(missing)}.{told}")
    if unknown:
        message = f"Unknown columns: {shown_names(unknown)}. Remove them from the request."
        raise Fault(422, "columns", message)


def filled(rows, means):
    """Rows with the means of their columns in place of missing values; the rows themselves where there are no means."""
    return rows if means is None else np.where(np.isnan(rows), means, rows)


def permutation(names, wanted, who):
    """Where the wanted columns are among the names; None if they are in this order, or if one side has no names."""
    if names is None or wanted is None or names == wanted:
        return None
    if set(names) != set(wanted):
        missing, others = [name for name in wanted if name not in names], [name for name in names if name not in wanted]
        raise InputError(
            f"{who} does not have the columns of the model: it lacks {shown_names(missing)} and has "
            f"{shown_names(others)}. "
            "Build it from the columns on which the model was fitted."
        )
    where = {name: i for i, name in enumerate(names)}
    return [where[name] for name in wanted]


def picker(places):
    """A function that takes a row, a list or an object, to the list of its values at places."""
    if len(places) == 1:
        (only,) = places
        return lambda row: [row[only]]
    get = itemgetter(*places)
    return lambda row: list(get(row))


def shown_names(names):
    """A few names for a sentence, quoted and short; whatever is not plain ASCII text in them is escaped."""
    quoted = [json.dumps(name if len(name) <= _LONGEST else name[:_LONGEST] + "...") for name in names[:_SHOWN]]
    more = len(names) - len(quoted)
    return ", ".join(quoted) + (f" and {more} more" if more else "")
