"""``mercer index build`` and ``add``: a new index of the rows of a file, and further rows for one."""

__all__ = ["ADD_EXAMPLES", "BUILD_EXAMPLES", "add", "build"]

import time
from typing import Any

from mercer._base.parameters import flag, integer, pathname
from mercer._base.parameters.search import INDEX as PARAMETERS
from mercer._base.tables import ArgumentError, keep_columns
from mercer.cli.framework.checks import as_argument
from mercer.cli.framework.options import COMMON, INPUT, Group, Settings, options
from mercer.cli.framework.output import answer_json, note, print_facts, print_json, progress, took
from mercer.cli.framework.parameters import kernel_values
from mercer.cli.framework.shared import DATA, DIR, IDS, KEEP, KERNEL_PARAM
from mercer.cli.index.parts.adding import RowsToAdd, add_rows, check_rows, open_rows_to_add, with_columns
from mercer.cli.index.parts.description import described, facts_of_plan, facts_of_rows
from mercer.cli.index.parts.files import open_index
from mercer.cli.models.learning import blaming, missing_facts

BUILD_EXAMPLES = """
Index histograms in 16 bytes each; read ids from a column, or from a file with one id per line:
  mercer index build base.npy --kernel chi2 --out base.index
  mercer index build spectra.parquet --kernel js --id name --out spectra.index
  mercer index build words.npz --kernel js --ids titles.txt --out words.index

Store columns for searches such as --where "precursor > 300":
  mercer index build spectra.csv --kernel js --id name --keep precursor,mode --out spectra.index

Print the plan only:
  mercer index build sift.bvecs --bytes 8 --dry-run

Use shorter codes without the rows; try more codes; rank by kernel distance:
  mercer index build base.npy --bytes 8 --vectors none --out small.index
  mercer index build base.npy --bytes 8 --effort high --out good.index
  mercer index build base.npy --kernel rbf -p gamma=0.5 --measure distance --out rbf.index
"""
ADD_EXAMPLES = """
  mercer index add base.index more.npy
  mercer index add spectra.index more.parquet --id name

Resume after an interruption that left the first 131072 rows in the index:
  mercer index add base.index more.npy --skip 131072
"""
FIT_ROWS = 2**17  # as many as a fit looks at
FIT_BYTES = 2**30  # of dense rows


_KERNEL, *_OTHERS = PARAMETERS
INDEX = Group((_KERNEL, KERNEL_PARAM, *_OTHERS), panel="Index")


@options((
    DATA,
    pathname("out", None, "Directory for the index, new or empty.", "DIR", "-o"),
    IDS, KEEP,
    integer("fit_rows", None, "Number of random rows to learn the embedding and the codes from.",
        shown="131072, at most 1 GiB", least=2),
    flag("dry_run", "Print the plan and write nothing."),
), examples=BUILD_EXAMPLES, choices=INDEX, rules=INPUT, settings=COMMON)  # fmt: skip
def build(x, out, ids, keep, fit_rows, dry_run, choices, rules, settings: Settings) -> None:
    """Learn an embedding and a code from a sample of rows, and write all rows to a new index.

    All rows are checked before learning starts; they need not fit in memory. --dry-run also learns, because the plan is
    measured, but writes nothing. Rows are read as float32 unless --dtype is set.
    """
    if not dry_run:
        if out is None:
            raise ArgumentError("Name the directory of the index with --out, or use --dry-run to print the plan only.")
        from mercer.search import check_new_place

        with as_argument():
            check_new_place(out)
    index = _new_index(choices, settings.seed)
    given = open_rows_to_add(settings, x, ids, keep, rules)
    started = time.perf_counter()
    with progress(settings), blaming(given.data):
        check_rows(index.kernel, given)
        sample = given.data.sample(fit_rows or _rows_to_fit(given), random_state=settings.seed)
        index.fit(sample)
        keep_columns(index, given.data)
        given = with_columns(given, index)
    _say_about_bytes(settings, choices["bytes_per_item"], index)
    fitted = time.perf_counter()
    head = {"data": given.data.name, "rows": given.n_rows, "columns": given.data.shape[1], "fitted_on": sample.shape[0]}
    head |= missing_facts(given.data)
    times = {"fit_seconds": fitted - started}
    if dry_run:
        _print_plan(settings, index, head | times)
        return
    assert out is not None
    with index.persist(out):
        add_rows(settings, index, given, str(out))
        times["add_seconds"] = time.perf_counter() - fitted
        _print_built(settings, index, str(out), head | times)


def _say_about_bytes(settings: Settings, asked: int | None, index) -> None:
    """Point out that codes are shorter than was asked for, as there are fewer components than bytes."""
    taken = index.plan_.get("bytes_per_item")
    if asked is not None and taken is not None and taken < asked:
        note(settings, f"--bytes {asked} is more than these rows can use; codes take {taken} bytes.")


def _new_index(choices: dict[str, Any], seed: int):
    """The index that the options describe, not fitted. What cannot be combined is refused here."""
    from mercer import KernelIndex
    from mercer.kernels import get_kernel

    given = dict(choices)
    parameters = kernel_values(given.pop("param") or [], "--param gamma=0.5")
    given["vectors"] = None if given["vectors"] == "none" else given["vectors"]
    with as_argument():
        index = KernelIndex(**given | {"kernel": get_kernel(given["kernel"], **parameters)}, random_state=seed)
        index.check_parameters()
    return index


@options((
    DIR, DATA, IDS, KEEP.but(shown="the columns of the index that DATA has"),
    integer("skip", 0, "Skip the first N rows and their ids.", least=0),
), examples=ADD_EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def add(place, x, ids, keep, skip, rules, settings: Settings) -> None:
    """Add rows to an index, with its embedding and code.

    Without --id or --ids, rows get consecutive integers after the largest id. All rows are checked before the first is
    added. Each block is on disk before the next one starts: after an interruption, the added rows remain, and a note
    says how to continue.
    """
    with open_index(place, "w") as index:
        given = with_columns(open_rows_to_add(settings, x, ids, keep, rules, index, skip), index)
        started = time.perf_counter()
        with progress(settings):
            check_rows(index.kernel, given)
        first = index.rows_.ids.highest + 1
        added = add_rows(settings, index, given, place)
        seconds = time.perf_counter() - started
        document = {"index": place, "data": given.data.name, "added": added, "rows": len(index), "seconds": seconds}
        document |= missing_facts(given.data)
    last = first + added - 1
    named = "" if given.ids is not None else f", with the ids {first} to {last}"
    answer_json(settings, document | ({} if given.ids is not None else {"first_id": first, "last_id": last}))
    note(settings, f"{added} rows of {given.data.name} added{named} in {seconds:.2g} s; {place} has {len(index)} rows.")


def _rows_to_fit(given: RowsToAdd) -> int:
    """As many rows as a fit looks at, and no more than memory should hold; sparse rows are in memory already."""
    first, _ = next(given.data.blocks(size=1))
    return FIT_ROWS if hasattr(first, "indptr") else max(2, min(FIT_ROWS, FIT_BYTES // first.nbytes))


def _print_plan(settings: Settings, index, found: dict[str, Any]) -> None:
    if answer_json(settings, found | {"parameters": index.get_params(deep=False), "plan": index.plan_}):
        return
    rows = [*facts_of_plan(index), ["fitted on", f"{found['fitted_on']:,} rows, in {took(found['fit_seconds'])}"]]
    print_facts(settings, f"Plan for {found['rows']:,} rows of {found['data']}", rows)


def _print_built(settings: Settings, index, place: str, found: dict[str, Any]) -> None:
    if settings.json:
        print_json({"index": place} | found | described(index, place))
        return
    if settings.quiet:  # the directory is the result
        return
    times = [
        ["fitted on", f"{found['fitted_on']:,} rows, in {took(found['fit_seconds'])}"],
        ["added in", took(found["add_seconds"])],
    ]
    rows = [*facts_of_plan(index), *facts_of_rows(index, place), *times]
    print_facts(settings, f"Index of {found['data']} in {place}", rows)
