"""``mercer spectra search``, ``mirror`` and ``pairs``: tables of hits, and pictures of them."""

__all__ = ["MIRROR_EXAMPLES", "PAIRS_EXAMPLES", "PAIR_MODE", "SEARCH_EXAMPLES", "mirror", "pairs", "search"]

from pathlib import Path

from mercer._base.errors import require_extra
from mercer._base.parameters import REQUIRED, Values, argument, choice, flag, integer, number, pathname, pick, text
from mercer._base.parameters.spectra import SEARCH
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note, note_skipped, print_json, print_table, progress, took, written_to
from mercer.cli.framework.shared import DIR
from mercer.cli.framework.tables import TABLE_FORMAT, TABLE_OUT, records_of, table_format, write_table
from mercer.cli.spectra.files import FILES, FORMAT, STRICT, note_left_out, read_queries

SEARCH_EXAMPLES = """
  mercer spectra search library.index unknown.mgf
  mercer spectra search library.index unknown.mzML --mode identity --out hits.csv

Write a page with mirror plots, and estimate the q-value of each first hit:
  mercer spectra search library.index unknown.mgf --mode identity --q-values --report hits.html

Find analogs of unknown compounds; search part of the library; find all hits above a score:
  mercer spectra search library.index unknown.mgf --mode hybrid --min-score 0.7
  mercer spectra search library.index unknown.mgf --where "ion_mode = 'positive'" -k 3
  mercer spectra search library.index unknown.mgf -k 1000 --min-score 0.8 --min-matched-peaks 6 --out hits.parquet
"""
PAIRS_EXAMPLES = """
  mercer spectra pairs library.index --min-score 0.7 --out pairs.csv
  mercer spectra pairs library.index --min-score 0.7 --min-matched-peaks 6 --mode hybrid --out pairs.parquet
"""
MIRROR_EXAMPLES = """
  mercer spectra mirror library.index unknown.mgf --out mirror.png
  mercer spectra mirror library.index unknown.mgf --query 4 --rank 2 --mode hybrid --out mirror.svg
"""
_SHOWN = 50  # hits printed
QUESTION = Group((
    *SEARCH, text("where", None, "Condition on the columns of the library; only rows that meet it are found.",
        "CONDITION"),
    flag("q_values", "Estimate the q-value of each first hit, from searches with spectra of the library as queries."),
), Values)  # fmt: skip
REPORT = pathname("report", None, "HTML page to write, with the hits and their mirror plots.", "FILE")


@options((DIR, FILES, integer("k", 10, "Maximum number of hits per query.", "K", "-k", least=1),
          TABLE_OUT, TABLE_FORMAT, REPORT,
          FORMAT, STRICT), examples=SEARCH_EXAMPLES, question=QUESTION, settings=COMMON)  # fmt: skip
def search(place, files, k, out, out_format, report, format, strict, question, settings: Settings) -> None:
    """Find the library spectra most similar to each query, exactly and best first.

    Queries are cleaned with the settings of the library. The table has one line per hit: rank, name, score, matched
    peaks, precursor difference, formula, the other columns, and the number of the spectrum in the library.
    """
    from mercer.spectra import SpectrumIndex

    said = table_format(out, out_format, settings)
    if report is not None:
        check_folder(Path(report))
    with SpectrumIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        queries, ms1_scans = read_queries(files, format, strict)
        found = index.search(queries, k, **question)
        table = found.table()
        if report is not None:
            found.report(report, f"Hits of {', '.join(Path(name).name for name in files)}")
    write_table(out, table, said)
    lost = queries.column("precursor_mz").count(None)
    if settings.json:
        head = {"index": place, "queries": len(queries), "ms1_scans": ms1_scans, "without_precursor": lost, "k": k}
        head |= {**question, "skipped": queries.problems} | ({"report": str(report)} if report else {})
        print_json(head | ({"out": out} if out else {"hits": records_of(table)}))
    elif out is None and report is None:
        _print(settings, table, found)
    note_skipped(settings, queries.problems, "record")
    note_left_out(settings, ms1_scans, lost if question["mode"] != "open" else 0)
    asked = f"{len(queries)} quer{'y' if len(queries) == 1 else 'ies'}"
    note(settings, f"{len(found.ids)} hits of {asked} in {took(watch.seconds)}{written_to(out, report)}")


MIRROR = (
    DIR, argument("file", "FILE", "A file of spectra."),
    pathname("out", REQUIRED, "Picture to write; the suffix selects the format. svg needs no extra, png and pdf need "
        "matplotlib.", "FILE", "-o"),
    integer("query", 0, "Number of the query spectrum in the file, from 0.", least=0),
    integer("rank", 1, "Rank of the hit to draw; 1 is the best.", least=1), FORMAT,
)  # fmt: skip


@options(MIRROR, examples=MIRROR_EXAMPLES, question=QUESTION, settings=COMMON)
def mirror(place, file, out, query, rank, format, question, settings: Settings) -> None:
    """Draw a mirror plot: a query above and one of its hits below, both after cleaning."""
    from mercer.spectra import SpectrumIndex

    out = Path(out)
    check_folder(out)
    if out.suffix.lower() != ".svg":
        require_extra("matplotlib", "plot", "A mirror plot in a format other than SVG")
    with SpectrumIndex.open(place, verify=False, n_jobs=settings.threads) as index:
        queries, _ = read_queries([file], format, strict=False)
        if query >= len(queries):
            raise ArgumentError(f"--query must be 0 to {len(queries) - 1}, the spectra of {file}; got {query}.")
        drawn = index.search(queries[[query]], rank, **question).mirror(0, rank)
    drawn.plot(out)
    note(settings, f"{drawn.summary.capitalize()}{written_to(out)}")


PAIR_MODE = choice("mode", "open loss hybrid", "open", "What to compare: peaks (open), neutral losses (loss), or "
    "peaks and then losses (hybrid). With --similarity cosine, hybrid is the modified cosine.")  # fmt: skip
PAIRS = (
    DIR,
    number("min_score", REQUIRED, "Minimum score of a pair.", "S", above=0, most=1),
    PAIR_MODE,
    *pick(SEARCH, "min_matched_peaks"),
    TABLE_OUT.but(default=REQUIRED), TABLE_FORMAT,
)  # fmt: skip


@options(PAIRS, examples=PAIRS_EXAMPLES, settings=COMMON)
def pairs(place, min_score, mode, min_matched_peaks, out, out_format, settings: Settings) -> None:
    """Find all pairs of library spectra with at least a given score, exactly; memory grows with the number of pairs."""
    from mercer.spectra import SpectrumIndex

    said = table_format(out, out_format, settings)
    with SpectrumIndex.open(place, verify=False, n_jobs=settings.threads) as index, progress(settings) as watch:
        first, second, scores, matched = index.pairs(min_score, mode=mode, min_matched_peaks=min_matched_peaks)
    table = {
        "first": first.tolist(),
        "second": second.tolist(),
        "score": scores.tolist(),
        "matched_peaks": matched.tolist(),
    }
    write_table(out, table, said)
    if settings.json:
        print_json({"index": place, "min_score": min_score, "pairs": len(first), "out": out, "seconds": watch.seconds})
    note(settings, f"{len(first):,} pair{'s' * (len(first) != 1)} in {took(watch.seconds)}{written_to(out)}")


def _print(settings: Settings, table: dict[str, list], found) -> None:
    columns = ["query", "name", "formula", "adduct", "rank", "score", "matched", "precursor", "id"]
    rows = []
    shown = len(table["query"]) if settings.quiet else _SHOWN
    for hit in records_of(table, shown):
        asked = hit["query_name"] or hit["query"]
        difference = "" if hit["precursor_difference"] is None else f"{hit['precursor_difference']:+.4f}"
        words = [asked, hit["name"] or hit["spectrum_id"] or "", hit["formula"] or "", hit["adduct"] or ""]
        rows.append([*words, hit["rank"], f"{hit['score']:.4f}", hit["matched_peaks"], difference, hit["id"]])
    print_table(settings, f"Hits of {len(found)} spectra", columns, rows, text_columns=4)
    if len(table["query"]) > shown:
        note(
            settings,
            f"The other {len(table['query']) - shown} hits are not shown. Use --quiet, --json or --out to "
            f"get all of them.",
        )
