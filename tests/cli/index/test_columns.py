"""Columns of a table beside the rows of an index: kept, asked for, and told."""

import csv
import io
import json

import numpy as np
import pytest

from mercer import KernelIndex

HEAD = "name,a,b,c,precursor,mode,code,day"
BUILD = (
    "--kernel",
    "chi2",
    "--bytes",
    2,
    "--components",
    4,
    "--landmarks",
    16,
    "--effort",
    "low",
    "--embedding",
    "kpca",
)


def lines(start, stop):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(3), size=stop)[start:]
    for i, row in zip(range(start, stop), rows, strict=True):
        cells = [
            f"r{i}",
            *(f"{x:.6f}" for x in row),
            "" if i % 10 == 0 else 200 + i,
            "positive" if i % 2 else "negative",
        ]
        yield ",".join(map(str, [*cells, f"{i:03d}", f"2024-01-{i % 28 + 1:02d}"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("columns")
    for name, start, stop in [("base", 0, 90), ("more", 90, 100)]:
        (place / f"{name}.csv").write_text("\n".join([HEAD, *lines(start, stop)]) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def made(folder, succeeds, tmp_path):
    keep = ("--keep", "precursor,mode,code,day")
    document = succeeds(
        "index", "build", folder / "base.csv", "--id", "name", *keep, *BUILD, "--out", tmp_path / "i", "--json"
    )
    assert document["data"] == {"precursor": "integer", "mode": "text", "code": "text", "day": "date"}
    return tmp_path / "i"


def test_columns_are_kept_and_told_with_what_is_found(folder, made, succeeds, fails):
    succeeds("index", "add", made, folder / "more.csv", "--id", "name")
    with KernelIndex.open(made) as index:
        assert index.n_features_in_ == 3
        found = index.data(["r0", "r99"])
        assert [found["precursor"], found["mode"], found["code"]] == [
            [None, 299],
            ["negative", "positive"],
            ["000", "099"],
        ]
    ask = ("index", "search", made, folder / "more.csv", "--id", "name", "-k", 2)
    where = ("--where", "precursor between 210 and 250 and mode = 'positive'")
    table = list(csv.DictReader(io.StringIO(succeeds(*ask, *where, "--out", "-", "--quiet"))))
    assert list(table[0]) == ["query", "query_id", "rank", "id", "similarity", "precursor", "mode", "code", "day"]
    assert len(table) == 20
    assert all(210 <= int(line["precursor"]) <= 250 and line["mode"] == "positive" for line in table)
    document = succeeds(*ask, *where, "--json")
    first = document["matches"][0]
    assert first["ids"] == [line["id"] for line in table[:2]]
    assert first["data"]["day"] == [line["day"] for line in table[:2]]
    nothing = succeeds(*ask, "--where", "precursor is null and day > '2024-01-28'", "--json")
    assert nothing["matches"][0]["ids"] == []
    true = succeeds("index", "exact", made, folder / "more.csv", "-k", 3, "--where", "code like '00_'", "--json")
    assert all(name in {f"r{i}" for i in range(10)} for each in true["matches"] for name in each["ids"])
    fails(1, ["--where, character 1, at moed", "Did you mean 'mode'?"], *ask, "--where", "moed = 'a'")
    assert "precursor (integer), mode (text), code (text), day (date)" in succeeds("index", "stats", made)


def test_columns_of_a_file_must_fit_those_of_the_index(folder, made, fails, succeeds, tmp_path):
    text = (folder / "more.csv").read_text(encoding="utf-8")
    (tmp_path / "words.csv").write_text(text.replace(",291,", ",many,"), encoding="utf-8")
    fails(
        1, ["words.csv, column 'precursor' holds 'many'", "stores integer there"],
        "index", "add", made, tmp_path / "words.csv", "--id", "name",
    )  # fmt: skip
    fails(
        2, ["no column named 'moed'"], "index", "build", folder / "base.csv", "--keep", "moed", "--out", tmp_path / "j"
    )
    np.save(tmp_path / "X.npy", np.eye(4))
    fails(2, ["no column names"], "index", "build", tmp_path / "X.npy", "--keep", "1", "--out", tmp_path / "j")


def test_columns_of_parquet_keep_their_types(succeeds, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X = np.random.default_rng(0).dirichlet(np.ones(3), size=60).astype(np.float32)
    table = {"x": X[:, 0], "y": X[:, 1], "z": X[:, 2], "n": [None, *range(59)], "t": [str(i) for i in range(60)]}
    parquet.write_table(pyarrow.table(table), tmp_path / "base.parquet")
    succeeds("index", "build", tmp_path / "base.parquet", "--keep", "n,t", *BUILD, "--out", tmp_path / "i")
    out = tmp_path / "found.parquet"
    ask = ("index", "search", tmp_path / "i", tmp_path / "base.parquet", "-k", 3)
    succeeds(*ask, "--where", "t in ('0', '7')", "--out", out)
    found = parquet.read_table(out).to_pydict()
    assert set(found["t"]) == {"0", "7"}
    assert set(found["n"]) == {None, 6}
    document = succeeds(*ask, "--where", "n = 6", "--json")
    assert json.dumps(document["matches"][5]["data"]) == '{"n": [6], "t": ["7"]}'
