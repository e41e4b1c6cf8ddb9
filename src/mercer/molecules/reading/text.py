"""Lines of SMILES, and structure-data files (SDF). Records are (place, SMILES or what is wrong, columns)."""

__all__ = ["BadRecord", "read_sdf", "read_smiles"]

import re

from mercer._base.errors import require_extra

LONGEST_SMILES = 65_535  # bytes, as an index keeps it
_HEADERS = ("smiles", "canonical_smiles", "isosmiles")
_PROPERTY = re.compile(r">.*<([^>]+)>")


class BadRecord(str):
    """What is wrong with a record."""


def read_smiles(lines):
    """A SMILES in each line, and what follows it as a name; a first line that says SMILES is a header.

    >>> list(read_smiles(["CCO ethanol", "", "C"]))
    [('line 1', 'CCO', {'name': 'ethanol'}), ('line 3', 'C', {'name': None})]
    """
    for number, line in enumerate(lines, start=1):
        smiles, _, name = line.strip().replace("\t", " ").partition(" ")
        if not smiles or (number == 1 and smiles.strip('"').lower() in _HEADERS):
            continue
        if len(smiles.encode(errors="replace")) > LONGEST_SMILES:
            smiles = BadRecord(f"has a SMILES of more than {LONGEST_SMILES:,} bytes")
        yield f"line {number}", smiles, {"name": name.strip() or None}


def read_sdf(lines):
    """Records that end with $$$$: a molecule, whose first line is its name, and properties, which become columns."""
    chem = require_extra("rdkit.Chem", "molecules", "Reading SDF files")
    log = require_extra("rdkit.rdBase", "molecules", "Reading SDF files")
    with log.BlockLogs():
        for number, (first, record) in enumerate(_records(lines), start=1):
            place = f"record {number} (line {first})"
            ends = [i for i, line in enumerate(record) if line.startswith("M  END")]
            if not ends:
                yield place, BadRecord("has no line 'M  END'"), {}
                continue
            block, rest = record[: ends[0] + 1], record[ends[0] + 1 :]
            try:
                molecule = chem.MolFromMolBlock("\n".join(block) + "\n")
            except (RuntimeError, ValueError) as error:
                yield place, BadRecord(f"is not a valid molecule: {str(error).strip().splitlines()[0]:.80}"), {}
                continue
            smiles = BadRecord("cannot be read by RDKit") if molecule is None else chem.MolToSmiles(molecule)
            yield place, smiles or BadRecord("has no atoms"), {"name": block[0].strip() or None, **_properties(rest)}


def _records(lines):
    """(number of the first line, lines) of every record."""
    first, record = 1, []
    for number, line in enumerate(lines, start=1):
        if line.startswith("$$$$"):
            yield first, record
            first, record = number + 1, []
        else:
            record.append(line.rstrip("\r\n"))
    if any(line.strip() for line in record):  # the last one needs no end
        yield first, record


def _properties(lines):
    """The data items of a record: > <NAME>, then lines of text up to an empty one."""
    found, name, value = {}, None, []
    for line in [*lines, ""]:
        heading = _PROPERTY.match(line) if name is None else None
        if heading:
            name, value = heading[1].strip(), []
        elif name is not None and line.strip():
            value.append(line)
        elif name is not None:
            found[name], name = "\n".join(value).strip() or None, None
    return found
