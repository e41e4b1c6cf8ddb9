"""Tables of molecules, csv, tsv and parquet: a column of SMILES, and others that go along."""

__all__ = ["named_column", "read_csv", "read_parquet", "typed_column"]

import csv
from contextlib import contextmanager

from mercer._base.errors import InputError, require_extra
from mercer._base.tables.columns import listed
from mercer._base.tables.rules import ArgumentError, is_missing

_SMILES = ("smiles", "canonical_smiles", "isomeric_smiles", "isosmiles", "smiles_string", "smi", "structure")
_NAMES = ("name", "title", "compound_name", "molecule_name", "compound", "chembl_id", "mol_id", "molecule_id", "id")
_LONGEST_CELL = 2**20


def read_csv(lines, name, smiles, delimiter=None):
    """(columns by name, lines that rows begin in, the name of the column of SMILES) of a text with a header.

    Without a delimiter it is what the header has more of, commas or semicolons, as ChEMBL writes them.
    """
    first = lines.readline()
    lines.seek(0)
    if not first:
        raise InputError(f"{name} is empty.")
    delimiter = delimiter or (";" if first.count(";") > first.count(",") else ",")
    with _long_cells():
        rows = csv.reader(lines, delimiter=delimiter)
        try:
            header = [cell.strip() for cell in next(rows, [])]
            places, cells, line = [], [], rows.line_num
            for row in rows:
                if any(cell.strip() for cell in row):
                    if len(row) != len(header):
                        raise InputError(
                            f"{name}, line {line + 1} has {len(row)} cells, but the header has {len(header)}."
                        )
                    places.append(f"line {line + 1}")
                    cells.append(row)
                line = rows.line_num
        except csv.Error as error:
            raise InputError(f"{name}, line {rows.line_num} cannot be read: {error}.") from error
    _refuse_twins(header, name)
    columns = dict(zip(header, zip(*cells, strict=True) if cells else [()] * len(header), strict=True))
    return columns, places, smiles_column(header, name, smiles)


def read_parquet(stream, name, smiles):
    """The same of a parquet file."""
    arrow = require_extra("pyarrow", "molecules", "Reading a parquet file")
    parquet = require_extra("pyarrow.parquet", "molecules", "Reading a parquet file")
    try:
        table = parquet.read_table(stream)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{name} cannot be read as parquet: {str(error).splitlines()[0]:.200}") from error
    _refuse_twins(table.column_names, name)
    columns = {title: table.column(title).to_pylist() for title in table.column_names}
    return columns, [f"row {i}" for i in range(table.num_rows)], smiles_column(table.column_names, name, smiles)


def smiles_column(names, file, said):
    """The column of SMILES: the one that was said, or the one whose name says it."""
    if said is not None:
        if said in names:
            return said
        raise ArgumentError(f"{file} has no column {said!r:.80}; its columns are {listed(names)}.")
    found = named_column(names, _SMILES)
    if found is None:
        raise ArgumentError(
            f"The SMILES column of {file} cannot be inferred; its columns are {listed(names)}. Name it with --smiles "
            f"COLUMN."
        )
    return found


def named_column(names, wanted=_NAMES):
    """The first column that has one of these names, in any case; None if there is none."""
    known = {title.lower().replace(" ", "_"): title for title in reversed(names)}
    return next((known[word] for word in wanted if word in known), None)


def typed_column(values, as_text=False):
    """Texts as whole numbers, or else as numbers, where all of them are such; None where there is none.

    >>> typed_column(["1", "", "3"]), typed_column(["1.5", "2"]), typed_column(["a", "1"])
    ([1, None, 3], [1.5, 2.0], ['a', '1'])
    """
    if as_text or any(isinstance(value, (bytes, list, dict, tuple)) for value in values):
        values = [None if value is None else str(value) for value in values]
    if not all(value is None or isinstance(value, str) for value in values):
        return list(values)
    texts = [None if value is None or is_missing(value) else value for value in values]
    if as_text:
        return texts
    for make in (_whole, float):
        try:
            return [None if text is None else make(text) for text in texts]
        except ValueError:
            continue
    return texts


def _whole(text):
    """A whole number of 64 bits that is written as one: 007 is a text."""
    number = int(text)
    if str(number) != text.strip() or abs(number) >= 2**63:
        raise ValueError
    return number


def _refuse_twins(names, file):
    twice = next((title for title in names if list(names).count(title) > 1), None)
    if twice is not None:
        raise InputError(f"{file} has several columns named {twice!r:.80}. Rename them.")


@contextmanager
def _long_cells():
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)
