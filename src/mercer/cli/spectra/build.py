"""``mercer spectra build``, ``add`` and ``info``: a library as an index in a directory."""

__all__ = ["ADD_EXAMPLES", "BUILD_EXAMPLES", "INFO_EXAMPLES", "add", "build", "info"]

import time

from mercer._base.parameters import REQUIRED, Values, pathname
from mercer._base.parameters.spectra import CLEANING, MATCHING
from mercer.cli.framework.checks import as_argument
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note_skipped, progress, took
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import tell_index
from mercer.cli.spectra.files import FILES, FORMAT, STRICT, facts_of, note_left_out, read_files

BUILD_EXAMPLES = """
  mercer spectra build library.msp --out library.index
  mercer spectra build part1.msp.gz part2.mgf --out library.index --strict

Give the tolerance in ppm; compare by the cosine of matchms, without cleaning:
  mercer spectra build library.msp --out ppm.index --tolerance 10 --unit ppm
  mercer spectra build library.msp --out cosine.index --similarity cosine --tolerance 0.1 \\
    --noise 0 --merge 0 --precursor-window none
"""
ADD_EXAMPLES = """
  mercer spectra add library.index more.msp
"""
INFO_EXAMPLES = """
  mercer spectra info library.index
"""
LIBRARY = Group((*MATCHING, *CLEANING), Values, panel="Settings of the library and of its queries")


@options((FILES, pathname("out", REQUIRED, "Directory of the index, new or empty.", "DIR", "-o"), FORMAT, STRICT),
         examples=BUILD_EXAMPLES, library=LIBRARY, settings=COMMON)  # fmt: skip
def build(files, out, format, strict, library, settings: Settings) -> None:
    """Read files of spectra, clean the spectra, and write them to a new index.

    MS1 scans are skipped. A record that cannot be read is reported and skipped.
    """
    from mercer.search import check_new_place
    from mercer.spectra import SpectrumIndex

    with as_argument():
        check_new_place(out)
        index = SpectrumIndex(**library)
    started = time.perf_counter()
    with index, progress(settings):
        spectra = read_files(files, format, strict)
        index.add(spectra).persist(out)
        _tell(settings, index, str(out), spectra, len(index), time.perf_counter() - started, "Index")


@options((DIR, FILES, FORMAT, STRICT), examples=ADD_EXAMPLES, settings=COMMON)
def add(place, files, format, strict, settings: Settings) -> None:
    """Add spectra to an index, with its settings. They are on disk when the command ends."""
    from mercer.spectra import SpectrumIndex

    started = time.perf_counter()
    with SpectrumIndex.open(place, "w", verify=False) as index, progress(settings):
        before = len(index)
        spectra = read_files(files, format, strict)
        index.add(spectra)
        _tell(settings, index, place, spectra, len(index) - before, time.perf_counter() - started, "Added to")


def _tell(settings: Settings, index, place: str, spectra, added: int, seconds: float, what: str) -> None:
    stats = index.stats()
    left_out = len(spectra) - added
    note_skipped(settings, spectra.problems, "record")
    note_left_out(settings, left_out)
    if settings.json or not settings.quiet:
        rows = [["added", f"{added:,} spectra, in {took(seconds)}"], *facts_of(stats)]
        head = {"read": len(spectra), "added": added, "ms1_scans": left_out, "seconds": seconds}
        tell_index(settings, what, place, stats, rows, **head, skipped=spectra.problems)


@options((DIR,), examples=INFO_EXAMPLES, settings=COMMON)
def info(place, settings: Settings) -> None:
    """Print the size of an index of spectra and its cleaning settings."""
    from mercer.spectra import SpectrumIndex

    with SpectrumIndex.open(place, verify=False) as index:
        stats = index.stats()
    tell_index(settings, "Index", place, stats, facts_of(stats))
