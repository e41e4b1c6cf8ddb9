"""Tables of the page on scale: what was measured, and arithmetic from it. Each takes Results and returns Markdown."""

import math

from benchmarks.report import markdown_table
from stored_results import MISSING, shown

DASK_ROWS = "5,000,000 rows"  # the table of dask-fit
TASKS, TASK_SECONDS = 7, 1e-3  # of a thread in a pass of the bundle solver; of Dask's scheduler, about
BILLION, SPECTRA = 10**9, 2_000_000  # rows to be reached; spectra that were searched
PLANE, NETWORK = 54 * 8 * 7 * 8, 10e9 / 8  # bytes of the weights of dask-fit; bytes a second of 10 Gbit/s
LARGE, STORED, GRAPH = 10**8, 200_000, 1_000_000  # dense rows to be reached; in databases, in Mercer's graph


def growth(results):
    """How times grow, by what grows."""
    rows = [
        [one["of"], f"{one['from']:,} to {one['to']:,}",
         shown("{:.2g} s to {:.2g} s", *(one[name] for name in SECONDS)),
         shown("{:.2f}", one["exponent"])]
        for one in results["scale-growth"].rows("growth")
    ]  # fmt: skip
    dask = results["dask-fit"]
    one, two = (dask.cell(DASK_ROWS, (side,), "best, s") for side in ("one worker", "two workers"))
    exponent = None if one is None or two is None else math.log2(two / one)
    rows.append(["workers, a fit of 5,000,000 rows", "1 to 2", shown("{:.3g} s to {:.3g} s", one, two),
                 shown("{:.2f}", exponent)])  # fmt: skip
    return markdown_table(["what grows", "from, to", "time", "exponent"], rows)


def billion_rows(results):
    """A pass over a billion rows, on paper: its work, shared by threads, and its tasks, one after the other."""
    microseconds = results["dask-fit"].cell(DASK_ROWS, ("one worker",), "microseconds per row and pass")
    rows = []
    for threads in (1_600, 250, 100):
        work = None if microseconds is None else BILLION * 1e-6 * microseconds / threads
        sent = threads * PLANE
        rows.append([f"{threads:,}", shown("{:.2g} s", work), shown("{:.2g} s", threads * TASKS * TASK_SECONDS),
                     f"{threads * TASKS:,}", shown("{:.2g} MB", 2 * sent / 1e6),
                     shown("{:.2g} s", 2 * sent / NETWORK)])  # fmt: skip
    columns = ["threads", "work", "tasks, one after the other", "tasks", "weights and sums", "on one link of 10 Gbit/s"]
    return markdown_table(columns, rows)


def messages(results):
    """What a pass costs beside its work, by the number of workers."""
    rows = [
        [f"{one['workers']}", *(shown("{:,.0f}", one[name]) for name in ("tasks", "messages")),
         shown("{:.2f} MB", one["bytes"] / 1e6), shown("{:.2f} ms", 1000 * one["seconds"] / one["tasks"])]
        for one in results["scale-messages"].rows("a pass")
    ]  # fmt: skip
    columns = ["workers", "tasks", "messages", "bytes", "time for each task"]
    return markdown_table(columns, rows) if rows else MISSING


def spectra(results):
    """Exact search of a billion spectra by inverted lists, from that of two million."""
    stored = results["search-lists"]
    milliseconds = stored.bar("2,000,000 spectra, exact: single query, median")
    rows = []
    for n, machines in ((SPECTRA, 1), (10**7, 1), (BILLION, 1), (BILLION, 100)):
        one = None if milliseconds is None else milliseconds * n / machines / SPECTRA / 1000
        rows.append([f"{n:,}", f"{machines}", shown("{:.2g} s", one), "measured" if n == SPECTRA else "arithmetic"])
    return markdown_table(["spectra", "machines", "one query, one thread each", ""], rows)


def databases(results):
    """Dense rows in stores and in Mercer's graph: what was measured, and a hundred million by n log n."""
    stores, graph = results["search-stores"], results["search-graph"]
    table = f"{STORED:,} rows"
    rows = []
    found = {(one["where"], one["settings"]): one for one in stores.rows(table)}
    for where in ("pgvector", "Milvus Lite"):
        one = found.get((where, "hnsw, m 16, ef_construction 128, ef 100"), {})
        times = _number(one.get("time to build, s")), _number(one.get("median, ms"))
        rows.append(_grown(where, STORED, *times))
        if where == "Milvus Lite":
            rows[-1][-1] = "not by a graph"
    build = graph.bar("the same, fit and add on two threads")
    rows.append(_grown("Mercer's graph, two threads", GRAPH, build,
                       graph.bar("1,000,000 rows of 128, chi2: single query, median")))  # fmt: skip
    columns = ["where", "rows measured", "build", "one query", f"build, {LARGE:,} rows", f"one query, {LARGE:,} rows"]
    return markdown_table(columns, rows)


def _grown(where, n, build, milliseconds):
    """A row: measured, and with the build as n log n and the query as log n."""
    longer = math.log(LARGE) / math.log(n)
    return [where, f"{n:,}", shown("{:.0f} s", build), shown("{:.3g} ms", milliseconds),
            shown("{:.1f} h", None if build is None else build * LARGE / n * longer / 3600),
            shown("{:.3g} ms", None if milliseconds is None else milliseconds * longer)]  # fmt: skip


def _number(text):
    return float(text) if text else None


SECONDS = ("seconds, from", "seconds, to")
TABLES = {
    "growth": growth,
    "billion-rows": billion_rows,
    "messages": messages,
    "billion-spectra": spectra,
    "databases": databases,
}
