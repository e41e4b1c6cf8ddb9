"""Answers as data frames: of pandas, polars or Arrow, each with its own types for what may be missing."""

__all__ = ["as_data_frame", "check_frame"]

from mercer._base.errors import InputError, MissingExtraError

LIBRARIES = ("pandas", "polars", "pyarrow")
_PANDAS = {
    "integer": "Int64",
    "float": "float64",
    "text": "object",
    "boolean": "boolean",
    "date": "datetime64[s]",
    "timestamp": "datetime64[us]",
}
_POLARS = {
    "integer": "Int64",
    "float": "Float64",
    "text": "String",
    "boolean": "Boolean",
    "date": "Date",
    "timestamp": "Datetime",
}
_ARROW = {
    "integer": "int64",
    "float": "float64",
    "text": "string",
    "boolean": "bool_",
    "date": "date32",
    "timestamp": "timestamp",
}


def check_frame(library, who):
    """Refuse a library that is not known, or not installed, before anything is computed."""
    if library is False:
        return
    if library is not True and library not in LIBRARIES:
        raise InputError(
            f"{who} needs as_frame to be False, True or one of {', '.join(LIBRARIES)}, got {library!r:.80}."
        )
    _module("pandas" if library is True else library)


def _module(name):
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"A data frame of {name} needs the package {name!r}, which is not installed. Run: pip install {name}."
        ) from error


def as_data_frame(library, head, columns, values):
    """A data frame of the arrays in ``head``, and of columns (DataTypes) with lists of their values."""
    library = "pandas" if library is True else library
    return _MAKERS[library](_module(library), head, [(column, values[column.name]) for column in columns])


def _pandas(pandas, head, pairs):
    made = {column.name: pandas.Series(values, dtype=_PANDAS[column.type]) for column, values in pairs}
    return pandas.DataFrame({**head, **made})


def _polars(polars, head, pairs):
    made = {column.name: polars.Series(values, dtype=getattr(polars, _POLARS[column.type])) for column, values in pairs}
    return polars.DataFrame({**_lists(head), **made})


def _arrow(arrow, head, pairs):
    made = {}
    for column, values in pairs:
        kind = getattr(arrow, _ARROW[column.type])
        made[column.name] = arrow.array(values, type=kind("us") if column.type == "timestamp" else kind())
    return arrow.table({**_lists(head), **made})


def _lists(head):
    """Lists of one type each: numbers among ids that are texts become texts."""
    lists = {name: array.tolist() for name, array in head.items()}
    if head["id"].dtype == object:
        lists["id"] = [str(value) for value in lists["id"]]
    return lists


_MAKERS = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
