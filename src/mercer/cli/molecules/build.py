"""``mercer molecules build``, ``add`` and ``info``: molecules as an index in a directory."""

__all__ = ["ADD_EXAMPLES", "BUILD_EXAMPLES", "INFO_EXAMPLES", "add", "build", "info"]

import time

from mercer._base.parameters import REQUIRED, Values, pathname
from mercer._base.parameters.molecules import FINGERPRINTS, SIMILARITY
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note_skipped, progress, took
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import tell_index
from mercer.cli.molecules.files import FILES, READING, facts_of, read_encoded

BUILD_EXAMPLES = """
  mercer molecules build library.smi --out library.index
  mercer molecules build part1.sdf.gz part2.csv --smiles structure --out library.index --strict

Use binary fingerprints, atom pairs, or fingerprints that you computed:
  mercer molecules build library.csv --out ecfp4.index --binary
  mercer molecules build library.csv --out pairs.index --fingerprint atom-pair --n-bits 16384
  mercer molecules build library.smi --out own.index --fingerprints rows.npz
"""
ADD_EXAMPLES = """
  mercer molecules add library.index more.smi
"""
INFO_EXAMPLES = """
  mercer molecules info library.index
"""
LIBRARY = Group((SIMILARITY, *FINGERPRINTS), Values, panel="Settings of the library and of its queries")


@options((FILES, pathname("out", REQUIRED, "Directory of the index, new or empty.", "DIR", "-o")),
         examples=BUILD_EXAMPLES, reading=READING, library=LIBRARY, settings=COMMON)  # fmt: skip
def build(files, out, reading, library, settings: Settings) -> None:
    """Read files of molecules, compute fingerprints, and write them to a new index.

    The index also stores the names, properties and columns of the files. A molecule that RDKit cannot read is reported
    with its file and line, and skipped.
    """
    from mercer.molecules import MoleculeIndex
    from mercer.search import check_new_place

    with as_argument():
        check_new_place(out)
        if reading.fingerprints is not None:
            usual = {each.name: each.default for each in FINGERPRINTS}
            said = next((name for name in usual if library[name] != usual[name]), None)
            if said is not None:
                raise ArgumentError(
                    f"--{said.replace('_', '-')} has no effect with --fingerprints. Omit one of the two."
                )
            library = library | {"fingerprint": "given"}
        index = MoleculeIndex(**library)
    started = time.perf_counter()
    with index, progress(settings):
        molecules, X = read_encoded(index, files, reading)
        index.add_rows(molecules, X).persist(out)
        _tell(settings, index, str(out), molecules, time.perf_counter() - started, "Index")


@options((DIR, FILES), examples=ADD_EXAMPLES, reading=READING, settings=COMMON)
def add(place, files, reading, settings: Settings) -> None:
    """Add molecules to an index, with its settings. They are on disk when the command ends.

    Columns that the index does not have are ignored.
    """
    from mercer.molecules import MoleculeIndex

    started = time.perf_counter()
    with MoleculeIndex.open(place, "w", verify=False) as index, progress(settings):
        molecules, X = read_encoded(index, files, reading)
        index.add_rows(molecules, X)
        _tell(settings, index, place, molecules, time.perf_counter() - started, "Added to")


def _tell(settings: Settings, index, place: str, molecules, seconds: float, what: str) -> None:
    stats = index.stats()
    note_skipped(settings, molecules.problems, "molecule")
    if settings.json or not settings.quiet:
        rows = [["added", f"{len(molecules):,} molecules, in {took(seconds)}"], *facts_of(stats)]
        head = {"added": len(molecules), "seconds": seconds, "skipped": molecules.problems}
        tell_index(settings, what, place, stats, rows, **head)


@options((DIR,), examples=INFO_EXAMPLES, settings=COMMON)
def info(place, settings: Settings) -> None:
    """Print the size of an index of molecules, its fingerprints, similarity and columns."""
    from mercer.molecules import MoleculeIndex

    with MoleculeIndex.open(place, verify=False) as index:
        stats = index.stats()
    tell_index(settings, "Index", place, stats, facts_of(stats))
