"""``mercer molecules search`` and ``pairs``: tables of similar molecules."""

__all__ = ["PAIRS_EXAMPLES", "SEARCH_EXAMPLES", "pairs", "search"]

from mercer._base.parameters import REQUIRED, Values, flag, integer, pathname, text
from mercer._base.parameters.molecules import CUTOFF, SEARCH
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note, note_skipped, print_json, print_table, progress, took, written_to
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import TABLE_FORMAT, TABLE_OUT, records_of, table_format, write_table
from mercer.cli.molecules.files import FILES, READING, read_encoded

SEARCH_EXAMPLES = """
  mercer molecules search library.index query.smi
  mercer molecules search library.index query.smi --out hits.csv --grid hits.png

Search part of the library; find all molecules above a score:
  mercer molecules search library.index query.smi -k 5 --where "active = 1"
  mercer molecules search library.index query.smi --all --min-score 0.7 --out hits.parquet
"""
PAIRS_EXAMPLES = """
  mercer molecules pairs library.index --min-score 0.8 --out pairs.csv
"""
_SHOWN = 50  # hits printed
WHERE = text("where", None, "Condition on the columns of the library; only rows that meet it are found.", "CONDITION")
QUESTION = Group((*SEARCH, WHERE), Values)
SEARCH_OPTIONS = (
    DIR, FILES, integer("k", 10, "Maximum number of hits per query.", "K", "-k", least=1),
    flag("every", "Find every molecule with a score of at least --min-score.", "--all"),
    TABLE_OUT, TABLE_FORMAT,
    pathname("grid", None, "Picture of the first ten queries and their hits to write (png, svg).", "FILE"),
)  # fmt: skip


@options(SEARCH_OPTIONS, examples=SEARCH_EXAMPLES, question=QUESTION, reading=READING, settings=COMMON)
def search(place, files, k, every, out, out_format, grid, question, reading, settings: Settings) -> None:
    """Find the molecules of a library most similar to each query, exactly and best first.

    Queries get fingerprints with the settings of the library. The table has one line per hit: rank, name, score,
    SMILES, the other columns, and the number of the molecule in the library.
    """
    from mercer.molecules import MoleculeIndex

    said = table_format(out, out_format, settings)
    check_folder(grid)
    with MoleculeIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        queries, X = read_encoded(index, files, reading)
        found = index.search_rows(queries, X, None if every else k, **question)
        table = found.table()
    write_table(out, table, said)
    if grid is not None:
        found.draw(grid)
    if settings.json:
        head = {"index": place, "queries": len(queries), "k": None if every else k, **question}
        head |= {"skipped": queries.problems} | ({"grid": str(grid)} if grid else {})
        print_json(head | ({"out": out} if out else {"hits": records_of(table)}))
    elif out is None:
        _print(settings, table, len(found))
    note_skipped(settings, queries.problems, "molecule")
    asked = f"{len(queries):,} quer{'y' if len(queries) == 1 else 'ies'}"
    note(settings, f"{len(found.ids):,} hits of {asked} in {took(watch.seconds)}{written_to(out, grid)}")


def _print(settings: Settings, table: dict[str, list], n_queries: int) -> None:
    shown = len(table["query"]) if settings.quiet else _SHOWN
    rows = []
    for hit in records_of(table, shown):
        asked = hit["query_name"] or hit["query"]
        rows.append([asked, hit["name"] or "", hit["smiles"] or "", hit["rank"], f"{hit['score']:.4f}", hit["id"]])
    title = f"Hits of {n_queries} molecule{'s' * (n_queries != 1)}"
    print_table(settings, title, ["query", "name", "smiles", "rank", "score", "id"], rows, text_columns=3)
    if len(table["query"]) > shown:
        note(
            settings,
            f"The other {len(table['query']) - shown} hits are not shown. Use --quiet, --json or --out to "
            f"get all of them.",
        )


@options((DIR, CUTOFF.but(default=REQUIRED), WHERE, TABLE_OUT.but(default=REQUIRED), TABLE_FORMAT),
         examples=PAIRS_EXAMPLES, settings=COMMON)  # fmt: skip
def pairs(place, min_score, where, out, out_format, settings: Settings) -> None:
    """Find all pairs of molecules with at least a given score, exactly; memory grows with the number of pairs."""
    from mercer.molecules import MoleculeIndex

    said = table_format(out, out_format, settings)
    with MoleculeIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        first, second, scores = index.pairs(min_score, where=where)
    write_table(out, {"first": first.tolist(), "second": second.tolist(), "score": scores.tolist()}, said)
    if settings.json:
        print_json({"index": place, "min_score": min_score, "pairs": len(first), "out": out, "seconds": watch.seconds})
    note(settings, f"{len(first):,} pair{'s' * (len(first) != 1)} in {took(watch.seconds)}{written_to(out)}")
