"""Columns in another order, renamed, missing or twice, given to every verb that reads a table for a model."""

from benchmarks.registry import Bar, benchmark

BAR = "column-order attacks answered wrongly"
ORDERS = ("reversed", "shuffled", "rotated")
FAULTS = ("renamed", "lacking", "twice")
# FILE is the table; everything else lies beside it
VERBS = {
    "predict": ["predict", "m.mercer", "FILE", "--label", "digit", "--scores"],
    "evaluate": ["evaluate", "m.mercer", "FILE", "--label", "digit", "--quiet"],
    "encode": ["encode", "m.mercer", "FILE", "--label", "digit", "--out", "-", "--dense"],
    "map apply": ["map", "apply", "map.mercer", "FILE", "--label", "digit", "--out", "-"],
    "map report": ["map", "report", "map.mercer", "FILE", "--label", "digit", "--json"],
    "kernel": ["kernel", "same.csv", "FILE", "--label", "digit", "--out", "-"],
    "index search": ["index", "search", "i.index", "FILE", "--label", "digit", "--out", "-"],
    "index exact": ["index", "exact", "i.index", "FILE", "--label", "digit", "--out", "-"],
    "index evaluate": ["index", "evaluate", "i.index", "FILE", "--label", "digit", "--json"],
}


@benchmark(
    "trust-columns",
    "columns in another order, renamed, missing or twice, in every verb that reads a table for a model",
    bars=[Bar(BAR, "<= 0")],
    needs=["digits"],
)
def columns(record):
    import os
    import tempfile
    from pathlib import Path

    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    n_rows, seeds = (40, 1) if record.quick else (200, 5)
    lines, wrong, attacks = [], 0, 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            _prepare(X[:1000], y[:1000])
            for seed in range(seeds):
                names = _tables(X[1000 : 1000 + n_rows], y[1000 : 1000 + n_rows], seed)
                for verb, words in VERBS.items():
                    right = _answer(words, "same.csv")
                    assert right[0] == 0, right
                    for name in names:
                        found = _answer(words, f"{name}.csv")
                        is_right = found == right if name in ORDERS else found[0] == 1 and not found[1]
                        lines.append((verb, name, is_right))
        finally:
            os.chdir(before)
    attacks, wrong = len(lines), sum(not is_right for *_, is_right in lines)
    record.table(
        "Attacks by verb: tables in other orders, and tables that must be refused",
        ["verb", "matched by name", "refused by name", "wrong"],
        [
            [
                verb,
                sum(r for v, name, r in lines if v == verb and name in ORDERS),
                sum(r for v, name, r in lines if v == verb and name in FAULTS),
                sum(not r for v, _, r in lines if v == verb),
            ]
            for verb in VERBS
        ],
    )
    record.measured(BAR, wrong, f"of {attacks}")
    record.note(f"{attacks} attacks: {len(VERBS)} verbs, {len(ORDERS) + len(FAULTS)} tables each, {seeds} seeds.")


def _prepare(X, y):
    """A classifier, a map and an index of the training rows."""
    _write("train.csv", X, y, list(range(X.shape[1])))
    said = ["train.csv", "--label", "digit", "--quiet"]
    for words in (
        ["fit", *said, "--out", "m.mercer"],
        ["map", "fit", *said, "--out", "map.mercer"],
        ["index", "build", *said, "--bytes", "8", "--out", "i.index"],
    ):
        found = _answer(words, "")
        assert found[0] == 0, found


def _tables(X, y, seed):
    """The same rows as they are, in other orders, and with columns that do not fit; the names of the attacks."""
    import numpy as np

    rng = np.random.default_rng(seed)
    d = X.shape[1]
    straight = list(range(d))
    _write("same.csv", X, y, straight)
    _write("reversed.csv", X, y, straight[::-1])
    _write("shuffled.csv", X, y, rng.permutation(d).tolist())
    _write("rotated.csv", X, y, np.roll(straight, int(rng.integers(1, d))).tolist())
    victim = int(rng.integers(d))
    _write("renamed.csv", X, y, straight, {victim: "another"})
    _write("lacking.csv", X, y, [i for i in straight if i != victim])
    _write("twice.csv", X, y, [*straight, victim])
    return ORDERS + FAULTS


def _write(path, X, y, order, renamed=None):
    titles = {i: f"pixel{i}" for i in range(X.shape[1])} | (renamed or {})
    lines = [",".join([*(titles[i] for i in order), "digit"])]
    lines += [",".join([*(f"{row[i]:g}" for i in order), str(label)]) for row, label in zip(X, y, strict=True)]
    with open(path, "w") as stream:
        stream.write("\n".join(lines) + "\n")


def _answer(words, table):
    """(exit code, what was printed without times and the name of the table)."""
    import json

    from typer.testing import CliRunner

    from mercer.cli.app import app

    result = CliRunner().invoke(app, [table if word == "FILE" else word for word in words])
    printed = result.stdout.replace(table, "FILE") if table else result.stdout
    if "--json" in words and result.exit_code == 0:
        return 0, json.dumps(_timeless(json.loads(printed)))
    return result.exit_code, printed


def _timeless(document):
    if isinstance(document, list):
        return [_timeless(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {key: _timeless(item) for key, item in document.items() if "second" not in key and "ms_" not in key}
