"""``mercer index push`` and ``search --store``: what the library does, and how it is told."""

import re
from pathlib import Path

import numpy as np
import pytest

from mercer import KernelIndex, search
from mercer.cli.framework import errors

PARAMETERS = {
    "bytes_per_item": 2,
    "n_components": 4,
    "n_landmarks": 32,
    "effort": "low",
    "embedding": "kpca",
    "oversample": 100,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Indexes of 300 rows, by numbers and by words, and 5 queries."""
    folder = tmp_path_factory.mktemp("indexes")
    X = np.random.default_rng(0).dirichlet(np.ones(6), size=305).astype(np.float32)
    for name, ids in (("numbers", None), ("words", [f"r{i}" for i in range(300)])):
        with KernelIndex("chi2", **PARAMETERS, random_state=0).fit(X[:300]).persist(folder / name) as index:
            index.add(X[:300], ids)
    np.save(folder / "Q.npy", X[300:])
    (folder / "some.txt").write_text("r1\nr2\nr30\n", encoding="utf-8")
    return folder


@pytest.mark.process
@pytest.mark.parametrize("kind", ["postgres", "milvus"])
def test_a_pushed_index_is_searched_in_the_store(succeeds, fails, made, request, kind):
    place = request.getfixturevalue(kind)
    document = succeeds("index", "push", made / "words", "--to", place, "--table", "shop", "--json")
    assert (document["rows"], document["ids"], document["method"]) == (300, "texts", "hnsw")
    with KernelIndex.open(made / "words") as index:
        Q = np.load(made / "Q.npy")
        ids, values = index.search(Q, 4)
        where = ("--store", place, "--table", "shop", "--json")
        found = succeeds("index", "search", made / "Q.npy", "-k", 4, *where)
        assert [each["ids"] for each in found["matches"]] == ids.tolist()
        assert [each["similarities"] for each in found["matches"]] == values.tolist()
        assert found["index"].startswith("shop of ")
        some = succeeds("index", "search", made / "Q.npy", "-k", 2, "--filter", made / "some.txt", "--ef", 50, *where)
        assert {name for each in some["matches"] for name in each["ids"]} <= {"r1", "r2", "r30"}
        one = succeeds("index", "search", made / "Q.npy", "-k", 2, "--store-filter", 'id = \'r7\'' if kind == "postgres" else 'id == "r7"', *where)  # fmt: skip  # noqa: E501
        assert [each["ids"] for each in one["matches"]] == [["r7"]] * 5
    words = ["shop", "mercer index search --store", "push with --replace"]
    said = fails(1, words, "index", "push", made / "numbers", "--to", place, "--table", "shop")
    said += fails(
        1, ["are: shop", "mercer index push"], "index", "search", made / "Q.npy", "--store", place, "--table", "no"
    )
    assert "KernelIndex" not in said
    assert "replace=True" not in said
    table = succeeds("index", "push", made / "numbers", "--to", place, "--table", "shop", "--replace", "--no-rows")
    assert "none; exact values need a function of ids" in table
    estimates = succeeds("index", "search", made / "Q.npy", "--no-rerank", *where)
    assert len(estimates["matches"][0]["ids"]) == 10
    assert estimates["reranked"] is False


def test_what_cannot_be_meant_is_said_in_one_sentence(fails, made):
    queries = made / "Q.npy"
    store = ("--store", "milvus://no.db")
    fails(2, ["--table"], "index", "search", queries, *store)
    fails(2, ["--store"], "index", "search", made / "words", queries, "--table", "shop")
    fails(2, ["Leave out"], "index", "search", made / "words", queries, *store, "--table", "shop")
    fails(2, ["Use -k instead"], "index", "search", queries, *store, "--table", "shop", "--min-similarity", 0.9)
    fails(2, ["Name an index directory and a query file"], "index", "search", queries)
    push = ("index", "push", made / "words", "--to", "milvus://no.db", "--table", "shop")
    fails(1, ["mercer index push: --m must be an integer >= 2 and <= 100; got 1"], *push, "--m", 1)
    fails(
        1,
        ["--ef-construction of at least twice --m; got --m 9 and --ef-construction 4"],
        *push,
        "--m",
        9,
        "--ef-construction",
        4,
    )
    fails(1, ["A store must be postgresql://"], "index", "search", queries, "--store", "mysql://x", "--table", "t")


def test_sentences_that_get_words_of_the_command_line_are_still_those_of_the_library():
    source = "".join(path.read_text(encoding="utf-8") for path in Path(search.__file__).parent.rglob("*.py"))
    joined = re.sub(r'"\n\s*f?"', "", source)
    sentences = [said for said in errors._HERE if " " in said]
    assert len(sentences) == 7
    assert [said for said in sentences if said not in joined] == []


def test_errors_of_a_store_are_one_sentence_without_passwords(fails, made, postgres):
    pushed = ("index", "push", made / "words", "--table", "shop", "--to")
    said = fails(1, ["postgresql://127.0.0.1:1/db reported: connect"], *pushed, "postgresql://me:secret@127.0.0.1:1/db")
    assert "secret" not in said
    asked = ("index", "search", made / "Q.npy", "--store", postgres, "--table")
    fails(1, ["has no index of Mercer in the table shop"], *asked, "shop")
