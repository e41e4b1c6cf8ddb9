"""``mercer index remove``, ``stats`` and ``compact``: rows out of an index, what it holds, and its space back."""

__all__ = ["COMPACT_EXAMPLES", "REMOVE_EXAMPLES", "STATS_EXAMPLES", "compact", "remove", "stats"]

from mercer._base.parameters import argument, flag, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note, print_facts, print_json, progress
from mercer.cli.framework.shared import DIR
from mercer.cli.index.parts.description import described, facts_of_plan, facts_of_rows
from mercer.cli.index.parts.files import bytes_on_disk, open_index
from mercer.cli.index.parts.ids import as_id, known_ids, read_ids

REMOVE_EXAMPLES = """
  mercer index remove base.index 17 42
  mercer index remove spectra.index --ids outdated.txt
  mercer index remove base.index -- -3
"""
STATS_EXAMPLES = """
  mercer index stats base.index
  mercer index stats base.index --verify --json
"""
COMPACT_EXAMPLES = """
  mercer index compact base.index
"""


@options((
    DIR,
    argument("words", "ID...", "Ids of the rows to remove.", default=None, kind=list),
    text("file", None, "File of ids, one per line, or npy; - is standard input.", "FILE", "--ids"),
), examples=REMOVE_EXAMPLES, settings=COMMON)  # fmt: skip
def remove(place, words, file, settings: Settings) -> None:
    """Remove rows by their ids; if an id does not exist, nothing is removed.

    Other rows keep their ids. Use mercer index compact to free the space.
    """
    if (file is None) != bool(words):
        raise ArgumentError("Name the rows to remove either by their ids or by a file of ids with --ids.")
    ids = read_ids(file) if file is not None else [as_id(word) for word in words or []]
    with open_index(place, "w") as index:
        wanted = list(dict.fromkeys(known_ids(index, ids, place, file)))
        index.remove(wanted)
        left = len(index)
    answer_json(settings, {"index": place, "removed": len(wanted), "rows": left})
    note(settings, f"{len(wanted)} rows removed; {place} has {left} rows.")


@options((
    DIR,
    flag("verify", "Read all files, verify their checksums and report any damage."),
), examples=STATS_EXAMPLES, settings=COMMON)  # fmt: skip
def stats(place, verify, settings: Settings) -> None:
    """Print the contents of an index, the choice of its codes, and its size on disk.

    A row differs from the training sample if the embedding loses more of it than of almost all training rows. If there
    are many such rows, build the index again.
    """
    with open_index(place, verify=verify) as index:
        if settings.json:
            print_json({"index": place} | described(index, place) | ({"verified": True} if verify else {}))
            return
        rows = [*facts_of_plan(index), *facts_of_rows(index, place)]
    print_facts(settings, place, [*rows, *([["verified", "yes"]] if verify else [])])


@options((DIR,), examples=COMPACT_EXAMPLES, settings=COMMON)
def compact(place, settings: Settings) -> None:
    """Free the space of removed rows.

    Checksums are verified first, so that damage is not copied. Running searches are not disturbed.
    """
    with open_index(place, "w", verify=True) as index:
        before = bytes_on_disk(place)
        with progress(settings) as watch:
            index.compact()
        rows = len(index)
    after = bytes_on_disk(place)
    found = {"index": place, "rows": rows, "bytes_before": before, "bytes": after, "seconds": watch.seconds}
    answer_json(settings, found)
    note(settings, f"{place} has {rows} rows in {after:,} bytes, down from {before:,}.")
