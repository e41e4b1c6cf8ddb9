"""Act 3, compress and send: the digits in a few bytes each, and as bits that a client sends."""

__all__ = ["compress"]

import time

from mercer._base.progress import track
from mercer.cli.demo.act import Act, Line, interval
from mercer.cli.demo.claims import best, compared
from mercer.cli.demo.classify import DIGITS, Task, digits, drawn

BLOCKS = (8, 16)  # columns that one byte stands for
RATES = (64, 128)  # bits
_DRAWN = 4  # digits as they are and as they come back

SNIPPET = """from mercer import CompactEmbedding, KernelClassifier, ProductQuantizer, WireClassifier

small = KernelClassifier(map=ProductQuantizer(block_size=8)).fit(X_train, y_train)
sent = WireClassifier(CompactEmbedding(128), rates=[64, 128]).fit(X_train, y_train)"""


def compress(seed: int) -> Act:
    """Accuracy against bytes of a row."""
    import numpy as np

    task = digits(seed)
    row_bytes = task.X.shape[1] * np.dtype(np.float32).itemsize
    rows = _on_rows(task, row_bytes, seed)
    codes, quantizer = _on_codes(task, seed)
    bits = _on_bits(task, seed)
    return Act(
        title="Compress and send",
        about=f"The same digits, {len(task.y):,} to train on and {len(task.y_test):,} to test on: as numbers, as codes "
        "on which a classifier learns without decoding them, and as bits that a client can send instead of its rows. "
        "The kernel is fixed, so that only what is stored differs; act 2 shows what choosing one adds.",
        columns=("data", "stored or sent as", "bytes per row", "accuracy", "95 % interval"),
        lines=[*rows, *codes, *bits],
        headline=_headline(rows, codes),
        claims=_claims(rows, codes, bits),
        pictures=[_drawn(task, quantizer)],
        cells=_cells,
        snippet=SNIPPET,
    )


def _cells(line: Line) -> list[str]:
    low, high = interval(line)
    return [line.data, line.method, f"{line.n_bytes:,}", f"{100 * line.share:.1f} %",
            f"{100 * low:.1f} to {100 * high:.1f}"]  # fmt: skip


def _on_rows(task: Task, row_bytes: int, seed: int) -> list[Line]:
    from mercer import KernelClassifier

    return [
        _judged(f"float32, {kernel} kernel", KernelClassifier(kernel, random_state=seed), task, row_bytes)
        for kernel in track(("chi2", "linear"), "Compress: rows")
    ]


def _on_codes(task: Task, seed: int):
    """Lines of codes, and the quantizer of the first."""
    from mercer import KernelClassifier, ProductQuantizer

    lines, models = [], []
    for size in track(BLOCKS, "Compress: codes"):
        model = KernelClassifier(map=ProductQuantizer(block_size=size, random_state=seed), random_state=seed)
        lines.append(_judged(f"code of {task.X.shape[1] // size} bytes", model, task, task.X.shape[1] // size))
        models.append(model)
    return lines, models[0].map_


def _judged(name: str, model, task: Task, n_bytes: int) -> Line:
    started = time.perf_counter()
    model.fit(task.X, task.y)
    hits, seconds = model.predict(task.X_test) == task.y_test, time.perf_counter() - started
    return Line(DIGITS, name, hits, seconds, n_bytes, ours=name.startswith("code"))


def _on_bits(task: Task, seed: int) -> list[Line]:
    from mercer import CompactEmbedding, WireClassifier

    started = time.perf_counter()
    embedding = CompactEmbedding(max(RATES), random_state=seed)
    model = WireClassifier(embedding, rates=RATES, Cs=[1.0, 10.0], cv=2, random_state=seed).fit(task.X, task.y)
    seconds = time.perf_counter() - started
    lines = []
    for bits, classifier in zip(model.rates_, model.classifiers_, strict=True):
        sent = classifier.map_.transform(task.X_test)  # what a client computes
        answers = model.classes_[model.decision_codes(sent, bits).argmax(axis=1)]
        lines.append(Line(DIGITS, f"message of {bits} bits", answers == task.y_test, seconds, sent.shape[1], True))
    return lines


def _headline(rows: list[Line], codes: list[Line]) -> tuple[str, str]:
    whole, small = best(rows), codes[0]
    said = f"fewer bytes per row; accuracy {100 * small.share:.1f} % instead of {100 * whole.share:.1f} %"
    return f"{(whole.n_bytes or 0) / (small.n_bytes or 1):.0f}×", said


def _claims(rows: list[Line], codes: list[Line], bits: list[Line]) -> list[str]:
    whole = best(rows)
    claims = []
    for line in (*codes, *bits):
        times = (whole.n_bytes or 0) / (line.n_bytes or 1)
        claims.append(f"{times:.0f} times fewer bytes: {compared(line, whole)}.")
    return claims


def _drawn(task: Task, quantizer) -> tuple[str, list[tuple[str, str]]]:
    """Digits as they are, and as their codes say."""
    from mercer._base.html.pieces import pixels_uri

    X = task.X_test[:_DRAWN]
    back = quantizer.inverse_transform(quantizer.transform(X))
    shown = []
    for row, again in zip(X, back, strict=True):
        shown += [(pixels_uri(drawn(row)), f"{4 * len(row)} bytes"),
                  (pixels_uri(drawn(again)), f"{len(row) // BLOCKS[0]} bytes")]  # fmt: skip
    return "Digits before and after coding", shown
