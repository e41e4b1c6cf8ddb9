"""What the verbs of ``mercer molecules`` share: reading files, and the facts of an index."""

__all__ = ["FILES", "READING", "facts_of", "read_encoded"]

import warnings
from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import Values, argument, choice, flag, text
from mercer._base.tables import read_table
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.options import Group

FILES = argument("files", "FILES...", "Files of molecules.", kind=list)
READING = Group((
    text("smiles", None, "Column of the SMILES in a table.", "COLUMN", shown="by its name"),
    choice("format", "smiles sdf csv tsv parquet", None, "Format of the files.", "FORMAT", shown="by suffix"),
    text("fingerprints", None, "Fingerprints that you computed, one row per molecule: npy, or npz written by "
        "scipy.sparse.save_npz.", "FILE", shown="computed from the SMILES"),
    flag("strict", "Stop if a molecule cannot be read, instead of skipping it with a warning."),
    text("max_unpacked", None, "Maximum memory for an unpacked file, such as 8GB.", "SIZE",
        shown="a quarter of the memory available"),
), Values, panel="Input")  # fmt: skip


def read_encoded(index: Any, files: list[str], reading: Values) -> tuple[Any, Any]:
    """(molecules of all files, their rows under an index); what was skipped is named by the first."""
    from mercer.molecules import SkippedMoleculesWarning, read_molecules

    for name in files:
        check_file(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkippedMoleculesWarning)  # told by note_skipped, all of them
        molecules = read_molecules(files, reading.smiles, reading.format, reading.strict, reading.max_unpacked)
    own = None if reading.fingerprints is None else _own(reading.fingerprints)
    if own is not None and molecules.problems:
        raise InputError(
            f"--fingerprints needs every molecule to be readable, because rows are matched by position: "
            f"{molecules.problems[0]} Remove that molecule and its row."
        )
    molecules, X = index.encode(molecules, own, reading.strict)
    if not len(molecules):
        why = molecules.problems[0] if molecules.problems else "The files hold no molecules."
        raise InputError(f"No molecule can be read from {', '.join(files)}. {why}")
    return molecules, X


def _own(path: str):
    """Rows of a file as a CSR matrix."""
    from scipy import sparse

    return sparse.csr_array(read_table(path).X)


def facts_of(stats: dict) -> list[list[str]]:
    """An index in words, for a table."""
    counted = "counts" if stats["counts"] else "binary"
    radius = f", radius {stats['radius']}" if "morgan" in stats["fingerprint"] else ""
    made = f"{stats['fingerprint']}, {counted}{radius}, {stats['n_bits']:,} columns"
    return [
        ["molecules", f"{stats['molecules']:,}"],
        ["similarity", stats["similarity"]],
        ["fingerprints", "your own" if stats["fingerprint"] == "given" else made],
        ["columns", ", ".join(f"{name} ({kind})" for name, kind in stats["columns"].items()) or "none"],
        ["memory", f"{stats['index_bytes'] / 2**20:.1f} MiB"],
    ]
