"""From the name of a file to its molecules: which format it has, and what could not be read."""

__all__ = ["FORMATS", "SkippedMoleculesWarning", "read_molecules", "warn_of"]

import io
import os
import warnings
from pathlib import Path

from mercer._base.errors import InputError
from mercer._base.tables.limits import Limit
from mercer._base.tables.reading import open_file
from mercer._base.tables.rules import PACKERS, ArgumentError
from mercer.molecules.collection import Molecules
from mercer.molecules.reading.tables import named_column, read_csv, read_parquet, typed_column
from mercer.molecules.reading.text import LONGEST_SMILES, BadRecord, read_sdf, read_smiles

FORMATS = ("smiles", "sdf", "csv", "tsv", "parquet")
_OF_SUFFIX = {f".{name}": name for name in FORMATS} | {
    ".smi": "smiles",
    ".ism": "smiles",
    ".sd": "sdf",
    ".pq": "parquet",
}
_PACKED_TEXT = "csv"  # what a packed text of any format is unpacked as
_SHOWN = 3  # problems in a warning


class SkippedMoleculesWarning(UserWarning):
    """Some molecules could not be read and were skipped. The message names the first ones."""


def read_molecules(files, smiles=None, format=None, strict=False, max_unpacked=None):
    r"""Read molecules from one or more files, with their names and properties as columns.

    SMILES are not parsed here; RDKit parses them when it computes fingerprints.

    Parameters
    ----------
    files : path or list of paths
        Lines of SMILES and names (``.smi``, ``.smiles``), SDF, or csv, tsv and parquet with a column of SMILES; texts
        may be packed by gzip, xz or bzip2.
    smiles : str or None
        Column of SMILES in a table. None infers it from the column names.
    format : {"smiles", "sdf", "csv", "tsv", "parquet"} or None
        None: by the suffix.
    strict : bool
        Raise an error at the first record that cannot be read, instead of skipping it with a warning.
    max_unpacked : size or None
        Maximum size of an unpacked file, such as "8GB". None uses a quarter of the available memory.

    Returns
    -------
    Molecules

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("two.csv").write_text("name,SMILES,mass\nethanol,CCO,46.07\nacetic acid,CC(=O)O,60.05\n")
    >>> molecules = read_molecules("two.csv")
    >>> molecules.smiles, molecules.columns
    (['CCO', 'CC(=O)O'], {'name': ['ethanol', 'acetic acid'], 'mass': [46.07, 60.05]})
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"read_molecules supports the formats {', '.join(FORMATS)}; got {format!r:.80}.")
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    parts = [_read(os.fspath(path), smiles, format, Limit.of(max_unpacked), strict) for path in paths]
    found = _joined(parts)
    warn_of(found.problems)
    return found


def warn_of(problems):
    """Say what was left out."""
    if problems:
        more = f" And {len(problems) - _SHOWN:,} more." if len(problems) > _SHOWN else ""
        text = f"Skipped {len(problems):,} molecule{'s' * (len(problems) != 1)}: {' '.join(problems[:_SHOWN])}{more}"
        warnings.warn(text, SkippedMoleculesWarning, stacklevel=3)


def _read(path, smiles, format, limit, strict):
    """The molecules of one file."""
    format = format or _format_of(path)
    with open_file(path, "parquet" if format == "parquet" else _PACKED_TEXT, limit) as stream:
        if format == "parquet":
            return _of_table(path, *read_parquet(stream, path, smiles), strict)
        limit.check_stream(stream, path)
        lines = io.StringIO(_decoded(limit.read(stream, path)), newline="")
    if format in ("csv", "tsv"):
        return _of_table(path, *read_csv(lines, path, smiles, "\t" if format == "tsv" else None), strict)
    return _of_records(path, read_smiles(lines) if format == "smiles" else read_sdf(lines), strict)


def _format_of(path):
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] and suffixes[-1] in PACKERS:
        suffixes.pop()
    found = _OF_SUFFIX.get(suffixes[-1] if suffixes else "")
    if found is None:
        raise ArgumentError(
            f"The format of {path} cannot be inferred from its name. Set it to one of {', '.join(FORMATS)}."
        )
    return found


def _decoded(content):
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _of_table(path, columns, places, smiles, strict):
    """Of columns by name; rows without a SMILES are named."""

    def records():
        others = {title: values for title, values in columns.items() if title != smiles}
        name = named_column(list(others))
        titles = ["name" if title == name and "name" not in others else title for title in others]
        others = {title: typed_column(values, title == name) for title, values in others.items()}
        for row, text in enumerate(columns[smiles]):
            text = text.strip() if isinstance(text, str) else text
            if not isinstance(text, str) or not text:
                text = BadRecord("has no SMILES")
            elif len(text.encode(errors="replace")) > LONGEST_SMILES:
                text = BadRecord(f"has a SMILES of more than {LONGEST_SMILES:,} bytes")
            yield places[row], text, dict(zip(titles, (values[row] for values in others.values()), strict=True))

    return _of_records(path, records(), strict, are_typed=True)


def _of_records(path, records, strict, are_typed=False):
    smiles, places, rows, problems, numbers = [], [], [], [], []
    for number, (place, text, columns) in enumerate(records):
        if isinstance(text, BadRecord):
            problems.append(f"{path}, {place} {text}.")
            if strict:
                raise InputError(problems[-1])
            continue
        smiles.append(text)
        places.append(f"{path}, {place}")
        rows.append(columns)
        numbers.append(number)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    if not are_typed:
        columns = {name: typed_column(values, name == "name") for name, values in columns.items()}
    return Molecules(smiles, columns, places, problems, numbers)


def _joined(parts):
    """Molecules of several files, whose columns meet by name; of other types they become texts."""
    if len(parts) == 1:
        return parts[0]
    columns = {}
    for name in dict.fromkeys(name for part in parts for name in part.columns):
        values = [value for part in parts for value in part.column(name)]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and not kinds <= {int, float}:
            values = [None if value is None else str(value) for value in values]
        columns[name] = values
    return Molecules(
        [text for part in parts for text in part.smiles],
        columns,
        [place for part in parts for place in part.places],
        [problem for part in parts for problem in part.problems],
    )
