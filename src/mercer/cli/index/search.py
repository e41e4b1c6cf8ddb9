"""``mercer index search`` and ``exact``: the nearest rows of queries, by codes or proven."""

__all__ = ["EXACT_EXAMPLES", "SEARCH_EXAMPLES", "exact", "search"]

import time
from dataclasses import dataclass, replace
from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import argument, flag, integer, number, text
from mercer._base.parameters.search import CONFIDENCE, RECALL
from mercer._base.tables import ArgumentError, RowSource
from mercer.cli.framework.checks import exclude
from mercer.cli.framework.options import COMMON, INPUT, Group, Settings, options
from mercer.cli.framework.output import note, print_json, progress, written_to
from mercer.cli.framework.shared import DIR, MATCHES_FORMAT, MATCHES_OUT
from mercer.cli.index.parts.files import open_index, open_rows_for
from mercer.cli.index.parts.ids import known_ids, read_ids
from mercer.cli.index.parts.limits import check_limit
from mercer.cli.index.parts.matches import Matches, output_format, print_matches, write_matches
from mercer.cli.index.stores import STORE, StorePlace, allowed_in_store, open_store
from mercer.cli.models.learning import answers, missing_facts, spread, warm_up

SEARCH_EXAMPLES = """
  mercer index search base.index queries.npy -k 5
  mercer index search base.index queries.npy --out found.csv
  mercer index search spectra.index new.parquet --id name --json

Find almost all true nearest rows:
  mercer index search base.index queries.npy --recall 0.999

Find all rows within a limit; search only some rows; use the codes alone:
  mercer index search base.index queries.npy --min-similarity 0.9
  mercer index search base.index queries.npy --filter allowed.txt
  mercer index search base.index queries.npy --no-rerank

Search only rows that meet a condition on their columns (see mercer index build --keep):
  mercer index search spectra.index new.csv --where "precursor between 300 and 400 and mode = 'positive'"

Search an index that mercer index push copied to PostgreSQL or Milvus:
  mercer index search queries.npy --store postgresql://me@host/shop --table images
  mercer index search queries.npy --store milvus://host:19530 --table images --store-filter 'year > 2000'
"""
EXACT_EXAMPLES = """
  mercer index exact base.index queries.npy -k 10
  mercer index exact base.index queries.npy -k 100 --out truth.npy
  mercer index exact base.index queries.npy --min-similarity 0.95 --out pairs.parquet
"""
_NEIGHBOURS = 10
_BYTES_PER_PAIR = 100  # of a query and a row that gets its exact value, roughly


@dataclass(frozen=True)
class IndexQuestion:
    """What is asked of an index about every query."""

    k: int | None
    min_similarity: float | None
    max_distance: float | None
    filter: str | None
    where: str | None = None
    place: str = ""
    exact: bool | str = False
    confidence: float | None = None
    rerank: bool = True
    recall: float | None = None
    at: StorePlace | None = None

    @property
    def is_range(self) -> bool:
        """All rows within a limit, instead of a number of rows."""
        return self.min_similarity is not None or self.max_distance is not None


QUESTION = Group((
    integer("k", None, "Number of rows per query; with a limit, the maximum number.", "K", "-k --neighbors",
        shown="10, or all within a limit", least=1),
    number("min_similarity", None, "Return every row with similarity of at least S.", "S"),
    number("max_distance", None, "Return every row within distance D.", "D"),
    text("filter", None, "File of the ids to search among, one per line, or npy; - is standard input.", "FILE"),
    text("where", None, "Condition on the columns of the index; only rows that meet it are found.", "CONDITION"),
), IndexQuestion)  # fmt: skip
QUERIES = argument("q", "QUERIES", "Queries: a file, FILE.npz::NAME, or - for standard input.")


@options((
    DIR.but(help="Directory of the index; omit it with --store."),
    QUERIES.but(default=None, shown=False),
    flag("rerank", "Rank the best candidates by exact values, or by the codes alone.", "--rerank/--no-rerank",
        default=True),
    RECALL,
    MATCHES_OUT, MATCHES_FORMAT,
), examples=SEARCH_EXAMPLES, question=QUESTION, at=STORE, rules=INPUT, settings=COMMON)  # fmt: skip
def search(place, q, rerank, recall, out, out_format, question, at, rules, settings: Settings) -> None:
    """Find the nearest rows of each query: candidates from lists, a graph or codes, ranked by the exact kernel.

    The values are exact unless the index keeps no rows or --no-rerank is set; which rows are found depends on the graph
    or the codes. --recall sets the target share of true nearest rows. Use mercer index evaluate to measure the recall,
    and mercer index exact to find the true nearest rows.
    """
    exclude(no_rerank=not rerank, recall=recall is not None)
    if recall is not None and (question.is_range or at.store is not None):
        raise ArgumentError("--recall works only with -k in an index directory. Remove it.")
    if question.is_range and not rerank:
        raise ArgumentError("A limit applies to exact values. Remove --no-rerank, or the limit.")
    if at.store is not None:
        if q is not None:
            raise ArgumentError(f"--store takes the place of the index directory. Leave out {place}.")
        if question.is_range:
            raise ArgumentError("A store cannot search within a limit. Use -k instead.")
        place, q = "", place
    elif q is None:
        raise ArgumentError("Name an index directory and a query file, or a store with --store.")
    at_store = None if at.store is None else at
    _run(settings, replace(question, place=place, rerank=rerank, recall=recall, at=at_store), q, rules, out, out_format)


@options((
    DIR, QUERIES,
    flag("probable", "Search faster with relaxed bounds; the certificate states the confidence."),
    CONFIDENCE.but(default=None, shown=f"{CONFIDENCE.default}, with --probable"),
    flag("stored", "Search exactly among the rows as stored, even if they are rounded."),
    MATCHES_OUT, MATCHES_FORMAT,
), examples=EXACT_EXAMPLES, question=QUESTION, rules=INPUT, settings=COMMON)  # fmt: skip
def exact(place, q, probable, confidence, stored, out, out_format, question, rules, settings: Settings) -> None:
    """Find the true nearest rows of each query, as brute force would, with a certificate.

    Bounds on the kernel rule out almost all rows; the kernel is computed for the others only. The certificate states
    how many rows those are. The first such command computes the bounds and stores them in the index.
    """
    exclude(probable=probable, stored=stored)
    if confidence is not None and not probable:
        raise ArgumentError("--confidence needs --probable. Add --probable, or remove --confidence.")
    way: bool | str = "probable" if probable else "stored" if stored else True
    sure = CONFIDENCE.default if confidence is None else confidence
    _run(settings, replace(question, place=place, exact=way, confidence=sure), q, rules, out, out_format)


def _run(
    settings: Settings, question: IndexQuestion, q: str, rules: dict[str, Any], out: str | None, out_format: str | None
) -> None:
    format = None if out is None else output_format(out, out_format, settings)
    if q == "-" and question.filter == "-":
        raise ArgumentError("QUERIES and --filter cannot both be standard input. Read one of them from a file.")
    with _open(question) as index:
        question = _fitted(question, index)
        data = open_rows_for(settings, q, rules, index)
        allowed = _allowed(question, index)
        with progress(settings):
            found, certificate, times = _ask(index, data, question, allowed)
        head = _head(index, data, question) | times | _certified(certificate)
    title = f"{'True nearest' if question.exact else 'Nearest'} rows of {data.name} in {question.place}"
    _give(settings, title, found, certificate, out, format, head)
    bounds = f", after {times['bounds_seconds']:.2g} s for the bounds" if question.exact else ""
    seconds, n = times["seconds"], len(found.ids)
    note(settings, f"{n} queries in {seconds:.2g} s, {1000 * seconds / n:.2g} ms each{bounds}{written_to(out)}")


def _open(question: IndexQuestion):
    return open_index(question.place) if question.at is None else open_store(question.at)


def _allowed(question: IndexQuestion, index):
    """Ids or, in a store, a condition."""
    if question.at is not None:
        return allowed_in_store(question.at, index, question.filter)
    if question.filter is None:
        return None
    return known_ids(index, read_ids(question.filter), question.place, question.filter)


def _give(settings: Settings, title: str, found: Matches, certificate, out: str | None, format, head) -> None:
    if out is not None:
        write_matches(out, found, format, head)
        if certificate is not None:
            note(settings, f"Certificate: {certificate}")
    if settings.json:
        print_json(head | ({"out": out} if out is not None else {"matches": found.document()}))
    elif out is None:
        print_matches(settings, title, found)
        if certificate is not None:
            print(f"Certificate: {certificate}")


def _fitted(question: IndexQuestion, index) -> IndexQuestion:
    """The question with its defaults; refused where this index cannot answer it."""
    if question.at is not None:
        found = index.stats()
        question = replace(question, place=f"{found['name']} of {found['place']}")  # without a password
    if not len(index):
        raise InputError(f"{question.place} has no rows. Add rows with mercer index add.")
    limit = {"min_similarity": question.min_similarity, "max_distance": question.max_distance}
    check_limit(index, question.place, limit)
    k = question.k if question.k is not None or question.is_range else min(_NEIGHBOURS, len(index))
    if not question.is_range and len(index) < (k or 0):
        raise ArgumentError(f"-k {k} exceeds the {len(index)} rows of {question.place}.")
    if question.exact is True:
        rounded = index.stats()["rounded_rows"]
        if rounded:
            raise ArgumentError(
                f"{question.place} keeps {rounded} of its rows rounded. Use --stored to search exactly among the rows "
                "as stored."
            )
    return replace(question, k=k)


def _ask(index, data: RowSource, question: IndexQuestion, allowed):
    """(matches, certificate or None, times)."""
    evaluations = []
    how = {"filter": allowed, "where": question.where, "exact": question.exact}
    if question.exact:
        how["confidence"] = question.confidence

    def ask(rows):
        if question.is_range:
            limits = {"min_similarity": question.min_similarity, "max_distance": question.max_distance}
            found = index.range_search(rows, **limits, **how)
        else:
            how["rerank"] = question.rerank
            if question.at is not None and question.at.ef is not None:
                how["ef"] = question.at.ef
            if question.recall is not None:
                how["recall"] = question.recall
            found = index.search(rows, question.k, **how)
        if question.exact:
            evaluations.append(index.certificate_.kernel_evaluations)
        return found

    begun = time.perf_counter()
    warm_up(data, ask)  # an exact search opens or computes its bounds here
    started = time.perf_counter()
    evaluations.clear()
    looked_at = min(len(index), (question.k or _NEIGHBOURS) * index.oversample)
    blocks = list(answers(data, ask, bytes_per_row=_BYTES_PER_PAIR * looked_at))
    times = {"seconds": time.perf_counter() - started} | ({"bounds_seconds": started - begun} if question.exact else {})
    found = [pair for ids, values in blocks for pair in zip(ids, values, strict=True)]
    kept = [(ids[_there(values)][: question.k], values[_there(values)][: question.k]) for ids, values in found]
    kept = spread(kept, data, tuple(part[:0] for part in kept[0]))  # rows that lack a value find nothing
    labels = None if data.y is None else data.y if data.kept is None else _labels(data)
    ids, values = [ids for ids, _ in kept], [values for _, values in kept]
    beside = [index.data(each.tolist()) for each in ids] if index.columns_ and question.at is None else None
    matches = Matches(ids, values, index.measure, labels, data.ids_in_file, beside)
    return matches, _joined(index, evaluations), times


def _labels(data: RowSource):
    import numpy as np

    out = np.full(data.n_rows_in_file, "", dtype=object)
    out[data.kept] = data.y
    return out.astype(str)


def _there(values):
    """Where a row was found: fewer than k may pass a filter."""
    import numpy as np

    return np.isfinite(values)


def _joined(index, evaluations):
    """One certificate for all blocks of queries."""
    if not evaluations:
        return None
    import numpy as np

    return replace(index.certificate_, kernel_evaluations=np.concatenate(evaluations))


def _certified(certificate) -> dict[str, Any]:
    if certificate is None:
        return {}
    evaluations = certificate.kernel_evaluations
    return {
        "certificate": {
            "exact": certificate.exact,
            "confidence": certificate.confidence,
            "rows": certificate.n_rows,
            "components": certificate.n_components,
            "tails": certificate.share_of_tails,
            "kernel_evaluations": evaluations,
        }
    }


def _head(index, data: RowSource, question: IndexQuestion) -> dict[str, Any]:
    """For the head of a JSON document."""
    return {
        "index": question.place,
        "queries": data.name,
        **missing_facts(data),
        "kernel": repr(index.kernel_),
        "normalize": index.normalize,
        "measure": index.measure,
        "k": question.k,
        "limit": question.min_similarity if question.max_distance is None else question.max_distance,
        "exact": question.exact,
        "recall": question.recall,
        "reranked": bool(question.exact) or (question.rerank and index.stats()["vectors"] is not None),
    }
