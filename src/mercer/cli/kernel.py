"""``mercer kernel``: exact kernel values, or the best matches, between the rows of one or two files."""

__all__ = ["EXAMPLES", "kernel"]

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import argument, flag, integer, text
from mercer._base.tables import (
    ArgumentError,
    RowSource,
    features_of,
    open_together,
    writable_format,
    write_columns,
    write_rows,
)
from mercer.cli.framework.checks import as_argument, check_standard_output
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note, print_json, print_table, progress, written_to
from mercer.cli.framework.parameters import kernel_values
from mercer.cli.framework.shared import KERNEL_PARAM, OUT_FORMAT
from mercer.cli.models.learning import blaming, missing_facts, say_about_columns, say_about_missing, whole

EXAMPLES = """
Find the ten most similar rows of every row under the Jensen-Shannon kernel:
  mercer kernel spectra.npy --kernel js --top 10

Compare each query with a base of histograms in csv, with a label column:
  mercer kernel queries.csv base.csv --kernel chi2 --label species --top 3

Write the whole matrix to a file; set a parameter; compute distances instead of values:
  mercer kernel X.npy --kernel power-mean --param p=-2 --out K.npy
  mercer kernel X.npz::train X.npz::test --kernel intersection --distance

Use a pipe:
  cut -d, -f2- data.csv | mercer kernel - --format csv --top 5 --out - | sort
"""
_ROWS_SHOWN = 20
_SMALL = 12  # a matrix up to this many rows and columns is printed


@dataclass(frozen=True)
class Side:
    """The rows of one file, in memory."""

    data: RowSource
    X: Any

    @property
    def y(self):
        """The labels, or None."""
        return self.data.y

    def numbers(self, positions):
        """Numbers of rows in the file, which rows that were left out have kept from being their positions."""
        return positions if self.data.kept is None else self.data.kept[positions]


@dataclass(frozen=True)
class Comparison:
    """What is compared and by which measure."""

    kernel: Any
    normalize: bool
    distance: bool
    rows: "Side"
    base: "Side | None"

    @property
    def candidates(self) -> "Side":
        """The table whose rows are matched against; the rows themselves when there is no second table."""
        return self.rows if self.base is None else self.base

    @property
    def measure(self):
        """The kernel whose values count."""
        return self.kernel.normalized() if self.normalize else self.kernel

    def block(self, X, Y=None):
        """Kernel values or distances between two blocks of rows."""
        return self.measure.distance(X, Y) if self.distance else self.measure(X, Y)

    @property
    def title(self) -> str:
        """In words."""
        name = f"normalized {self.kernel.name}" if self.normalize else self.kernel.name
        return f"{name} {'distance' if self.distance else 'kernel'}"

    def describe(self) -> dict[str, Any]:
        """For the head of a JSON document."""
        both = {"X": self.rows} | ({} if self.base is None else {"Y": self.base})
        sources = {
            side: {
                "source": given.data.name,
                "rows": given.X.shape[0],
                "columns": given.X.shape[1],
                "dtype": str(given.X.dtype),
                "sparse": hasattr(given.X, "indptr"),
            }
            | missing_facts(given.data)
            for side, given in both.items()
        }
        head = {"kernel": self.kernel.name, "parameters": self.kernel.get_params(), "normalized": self.normalize}
        return head | {"measure": "distance" if self.distance else "similarity"} | sources


@options((
    argument("x", "X", "Rows to compare: a file, FILE.npz::NAME, or - for standard input."),
    argument("y", "Y", "Rows to compare X with; X itself by default.", default=None),
    text("name", "chi2", "linear, hellinger, chi2, intersection (hik), jensen-shannon (js), power-mean, "
        "generalized-intersection, bray-curtis, min-max, dot-tanimoto, rbf, laplacian, exp-chi2, universal-rbf.",
        "NAME", "--kernel -k"),
    KERNEL_PARAM,
    flag("signed", "Extend an additive kernel to negative values: sign(x) sign(y) k(|x|, |y|)."),
    flag("normalize", "Divide by sqrt(K(x, x) K(y, y)), so that K(x, x) = 1."),
    flag("distance", "Compute the distance induced by the kernel; smaller is closer."),
    integer("top", None, "Output only the N best matches of each row; without Y, a row does not match "
        "itself.", least=1),
    text("out", None, "File for the result (npy, npz, csv, tsv); - is standard output.", "FILE", "-o"),
    OUT_FORMAT,
), examples=EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def kernel(x, y, name, param, signed, normalize, distance, top, out, out_format, rules, settings: Settings) -> None:
    """Compute exact kernel values, or the best matches, between rows of numbers.

    Without --top, the result is the matrix K(X, Y): written to --out, printed if small, summarized otherwise. With
    --top, it is the best matches of each row of X, and the matrix is never held in memory.
    """
    if out is not None:
        out_format = _checked_output(out, out_format, settings, top)
    chosen = _kernel(name, param or [], signed)
    comparison = Comparison(chosen, normalize, distance, *_read(settings, x, y, rules))
    with blaming(comparison.rows.data, "--signed"), blaming(comparison.candidates.data, "--signed"):
        comparison.block(comparison.rows.X[:1], comparison.candidates.X[:1])  # loads compiled code before a clock runs
        with progress(settings):
            if top is None:
                _matrix(settings, comparison, out, out_format)
            else:
                _matches(settings, comparison, top, out, out_format)


def _checked_output(out: str, out_format: str | None, settings: Settings, top: int | None) -> str:
    check_standard_output(out, settings)
    found = writable_format(out, out_format)
    if top is not None and found == "npy":
        raise ArgumentError("npy cannot hold the columns of matches. Use npz, csv or tsv.")
    return found


def _kernel(name: str, given: list[str], signed: bool):
    from mercer.kernels import closed, get_kernel

    parameters = kernel_values(given, "--param p=-2")
    if signed:
        parameters["signed"] = True
    with as_argument():
        return closed(get_kernel(name, **parameters))


def _read(settings: Settings, x: str, y: str | None, rules: dict[str, Any]) -> "tuple[Side, Side | None]":
    if x == "-" and y == "-":
        raise ArgumentError("X and Y cannot both be standard input. Read one of them from a file.")
    opened = open_together([x] if y is None else [x, y], **rules)
    rows, base = opened[0], opened[1] if y is not None else None
    if base is not None and rows.shape[1] != base.shape[1]:
        raise InputError(
            f"{rows.name} has {rows.shape[1]} columns of numbers and {base.name} has {base.shape[1]}. The numbers "
            "must be equal. If one column is a label, name it with --label; ignore other columns with --drop."
        )
    if base is not None:
        say_about_columns(settings, base, features_of(rows), rows.name)
    for data in opened:
        say_about_missing(settings, data)
    return Side(rows, whole(rows)), None if base is None else Side(base, whole(base))


# ---- the best matches of each row


def _matches(settings: Settings, comparison: Comparison, top: int, out: str | None, out_format: str | None) -> None:
    import numpy as np

    from mercer.kernels import best_matches

    itself = comparison.base is None
    available = comparison.candidates.X.shape[0] - itself
    if available == 0:
        raise InputError(f"{comparison.rows.data.name} has only one row. Name a second file, Y, to match it with.")
    if top > available:
        note(settings, f"There are {available} rows to match, but --top asks for {top}.")
    started = time.perf_counter()
    base = None if comparison.base is None else comparison.base.X
    scores, indices = best_matches(
        comparison.measure, comparison.rows.X, base, min(top, available), comparison.distance
    )
    seconds = time.perf_counter() - started
    n_rows, n_best = indices.shape
    labels = comparison.candidates.y
    if out is not None:
        columns = {
            "row": np.repeat(comparison.rows.numbers(np.arange(n_rows)), n_best),
            "rank": np.tile(np.arange(1, n_best + 1), n_rows),
            "match": comparison.candidates.numbers(indices.ravel()),
            comparison.describe()["measure"]: scores.ravel(),
        }
        write_columns(out, columns | ({} if labels is None else {"label": labels[indices.ravel()]}), format=out_format)
    if settings.json:
        print_json(comparison.describe() | _matches_document(comparison, scores, indices, seconds, out))
    elif out is None:
        _print_matches(settings, comparison, scores, indices)
    note(settings, f"{n_rows} rows, {n_best} matches each in {seconds:.2g} s{written_to(out)}")


def _matches_document(comparison: Comparison, scores, indices, seconds: float, out: str | None) -> dict[str, Any]:
    import numpy as np

    document: dict[str, Any] = {"top": indices.shape[1], "seconds": seconds}
    if out is not None:
        return document | {"out": out}
    own, others = comparison.rows.y, comparison.candidates.y
    matches = []
    for row, (found, values) in enumerate(zip(indices, scores, strict=True)):
        match = {"row": int(comparison.rows.numbers(np.array(row)))} | ({} if own is None else {"label": own[row]})
        match |= {"indices": comparison.candidates.numbers(found), "scores": values}
        matches.append(match | ({} if others is None else {"labels": others[found]}))
    return document | {"matches": matches}


def _print_matches(settings: Settings, comparison: Comparison, scores, indices) -> None:
    labels = comparison.candidates.y
    shown = indices.shape[0] if settings.quiet else min(indices.shape[0], _ROWS_SHOWN)

    def text(i, j):
        name = f" {labels[indices[i, j]]}" if labels is not None else ""
        return f"{comparison.candidates.numbers(indices[i, j])}{name} ({scores[i, j]:.4g})"

    rows = [[comparison.rows.numbers(i), "  ".join(text(i, j) for j in range(indices.shape[1]))] for i in range(shown)]
    what = "distance" if comparison.distance else "kernel value"
    label = " label" if labels is not None else ""
    columns = ["row", f"match{label} ({what}), best first"]
    print_table(settings, f"Best matches under the {comparison.title}", columns, rows, text_columns=2)
    if shown < indices.shape[0]:
        note(
            settings,
            f"The other {indices.shape[0] - shown} rows are not shown. Use --quiet, --json or --out for all of them.",
        )


# ---- the matrix


def _matrix(settings: Settings, comparison: Comparison, out: str | None, out_format: str | None) -> None:
    import numpy as np

    from mercer.kernels import MatrixSummary

    X, Y = comparison.rows.X, comparison.candidates.X
    shape = (X.shape[0], Y.shape[0])
    summary = MatrixSummary(shape, gram=comparison.base is None and not comparison.distance)
    started = time.perf_counter()
    blocks = summary.watch(_blocks(comparison))
    if out is not None:
        write_rows(out, blocks, shape, np.result_type(X.dtype, Y.dtype), format=out_format, name="K")
    else:
        for _ in blocks:
            pass
    seconds = time.perf_counter() - started
    values = summary.only_block if max(shape) <= _SMALL else None
    if settings.json:
        result = {"out": out} if out is not None else {} if values is None else {"values": values}
        print_json(comparison.describe() | summary.facts() | {"seconds": seconds} | result)
    elif out is None:
        _print_matrix(settings, comparison, summary, values)
    note(settings, f"{shape[0]} x {shape[1]} values in {seconds:.2g} s{written_to(out)}")


def _print_matrix(settings: Settings, comparison: Comparison, summary, values) -> None:
    if values is not None:
        columns = ["", *map(str, range(values.shape[1]))]
        rows = [[i, *(f"{value:.4g}" for value in row)] for i, row in enumerate(values)]
    else:
        columns = ["", "value"]
        rows = [[fact.replace("_", " "), _text(value)] for fact, value in summary.facts().items()]
    print_table(settings, comparison.title, columns, rows)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return " x ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _blocks(comparison: Comparison) -> Iterator[Any]:
    """The matrix in blocks of rows that fit the working memory; in one block the symmetric half is saved."""
    from mercer._base.memory import row_chunks
    from mercer._base.progress import track

    X, Y = comparison.rows.X, comparison.candidates.X
    chunks = list(row_chunks(X.shape[0], bytes_per_row=8 * Y.shape[0]))
    if len(chunks) == 1:
        yield comparison.block(X, None if comparison.base is None else Y)
        return
    for chunk in track(chunks, "Kernel"):
        yield comparison.block(X[chunk], Y)
