"""``mercer wire rates``: what accuracy codes of several lengths have on given rows."""

__all__ = ["EXAMPLES", "rates"]

from pathlib import Path

from mercer._base.parameters import integer, integers, number, pathname, text
from mercer.cli.framework.checks import as_argument, check_plot
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note_plot, print_json, print_table, progress, write_plot
from mercer.cli.framework.shared import C_OR_AUTO, DATA, LABELS
from mercer.cli.models.learning import blaming, missing_facts, open_classes, whole

EXAMPLES = """
Measure the accuracy of every code at every rate, which takes some minutes; plot it:
  mercer wire rates train.npz --bits 32,64,128,256 --plot rates.png

Compare some codes only, with one value of C and fewer splits, which is faster:
  mercer wire rates X.npy --labels y.npy --codes unquantized,raw,compact,pq --bits 64,256 --C 1 --splits 2

Encode local descriptors of 36 numbers, each in the given bits:
  mercer wire rates hog.npy --labels y.npy --block-size 36 --bits 9,18,36
"""


@options((
    DATA, LABELS,
    integers("bits", "32,64,128,256,512,1024", "Bits per row, or per block with --block-size.", "N,..."),
    text("codes", None, "Codes to compare: unquantized, raw (each number in a few bits), raw-mean, qjl-1 to qjl-4, "
        "universal (delta by cross-validation), universal-F (F times the default delta), compact, pq.", "NAME,...",
        shown="all but universal-F"),
    integer("block_size", None, "Number of columns of each local descriptor; descriptors are encoded one by "
        "one.", least=1),
    integer("splits", 5, "Number of random splits of the rows.", least=1),
    number("train_size", 0.7, "Share of the rows to train on.", "SHARE", least=0.01, most=0.99),
    C_OR_AUTO,
    pathname("plot", None, "Plot accuracy against bits.", "PNG"),
), examples=EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def rates(x, labels, bits, codes, block_size, splits, train_size, C, plot, rules, settings: Settings) -> None:
    """Compare the accuracy of a linear classifier on several codes, at several lengths.

    Rows are split at random several times; codes learn from the training part only. For comparison, the table includes
    the unquantized numbers and each number quantized on its own, which is sometimes sufficient.
    """
    check_plot(plot)
    data, y = open_classes(settings, x, labels, rules)
    from mercer import rate_accuracy

    named = {} if codes is None else {"codes": codes.split(",")}
    X = whole(data)
    with progress(settings), blaming(data), as_argument():
        found = rate_accuracy(
            X, y, bits, **named, block_size=block_size, n_splits=splits, train_size=train_size,
            Cs=10 if C == "auto" else [C], random_state=settings.seed,
        )  # fmt: skip
    write_plot(plot, found.plot)
    _print(settings, found, data, splits, plot)


def _print(settings: Settings, found, data, splits: int, plot: Path | None) -> None:
    columns, rows = found.table()
    if settings.json:
        points = [dict(zip(("code", "bits", "bytes", "accuracy", "low", "high"), row, strict=True)) for row in rows]
        document = {"data": data.name, "rows": data.shape[0], "blocks": found.blocks, "splits": splits}
        document |= missing_facts(data)
        print_json(document | {"points": points, "plot": None if plot is None else str(plot)})
        return
    lines = [
        [code, *("" if n is None else f"{n:,}" for n in (bits, size)), f"{mean:.4f}", f"{low:.4f} to {high:.4f}"]
        for code, bits, size, mean, low, high in rows
    ]
    title = f"Accuracy against bits on {data.shape[0]} rows of {data.name}, {splits} splits"
    print_table(settings, title, [*columns[:4], "95 % interval"], lines, text_columns=1)
    note_plot(settings, plot)
