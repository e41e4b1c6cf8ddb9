"""``mercer index evaluate``: recall by its definition, against neighbors that are known or searched for."""

import numpy as np
import pytest

from mercer import KernelIndex, exact_knn

PARAMETERS = {"n_landmarks": 32, "effort": "low", "embedding": "kpca"}
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(1).dirichlet(np.ones(8), size=460).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory, X):
    """Indexes of 400 rows with ids from 1000 on, and the other 60 rows as queries."""
    folder = tmp_path_factory.mktemp("indexes")
    kinds = {
        "short": {"bytes_per_item": 1, "n_components": 2},
        "long": {"bytes_per_item": 4, "n_components": 8},
        "codes": {"bytes_per_item": 1, "n_components": 2, "vectors": None},
        "rounded": {"bytes_per_item": 1, "n_components": 2, "vectors": "float16"},
        "bits": {"bytes_per_item": 4, "code": "lsh"},
        "words": {"bytes_per_item": 1, "n_components": 2},
    }
    numbers = np.arange(1000, 1400)
    words = [f"w{number}" if number % 2 else int(number) for number in numbers]
    for name, further in kinds.items():
        with KernelIndex("chi2", **PARAMETERS, **further, random_state=0).fit(X[:400]).persist(folder / name) as index:
            index.add(X[:400], words if name == "words" else numbers)
    np.save(folder / "Q.npy", X[400:])
    np.save(folder / "truth.npy", 1000 + exact_knn("chi2", X[:400], X[400:], 10)[0])
    return folder


@pytest.fixture(autouse=True)
def codes_of_few_rows(monkeypatch):
    """So few rows would all be compared: see tests/search/exact/test_few.py."""
    monkeypatch.setattr("mercer.search.rows.derived.FEW_VALUES", 0)


def share_found(found, true):
    """Mean over queries of the share of the true ids that was found."""
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), true.tolist(), strict=True)])


def lines_of(document, number=0):
    return {line["search"]: line for line in document["indexes"][number]["searches"]}


def test_recall_is_that_of_the_searches_a_user_makes(succeeds, made, X):
    document = succeeds("index", "evaluate", made / "short", made / "Q.npy", "-k", 5, "--ranks", "20,1,4", "--json")
    true = 1000 + exact_knn("chi2", X[:400], X[400:], 5)[0]
    lines = lines_of(document)
    with KernelIndex.open(made / "short") as index:
        for R in (1, 4, 20):
            codes, _ = index.search(X[400:], R, rerank=False)
            ranked, _ = index.search(X[400:], R)
            assert lines["codes"][f"recall_1@{R}"] == pytest.approx(share_found(codes, true[:, :1]))
            assert lines["re-ranked"][f"recall_1@{R}"] == pytest.approx(share_found(ranked, true[:, :1]))
        assert lines["codes"]["recall_5@5"] == pytest.approx(
            share_found(index.search(X[400:], 5, rerank=False)[0], true)
        )
        assert lines["re-ranked"]["recall_5@5"] == pytest.approx(share_found(index.search(X[400:], 5)[0], true))
    assert lines["exact"]["recall_5@5"] == 1
    assert lines["codes"]["recall_1@1"] < lines["re-ranked"]["recall_1@1"] < 1  # so that they can be told apart
    assert (lines["codes"]["bytes_per_item"], lines["re-ranked"]["bytes_per_item"]) == (1, 1 + 8 * 4)
    curve = document["indexes"][0]["curve"]
    assert (curve["ranks"][0], curve["ranks"][-1]) == (1, 20)
    assert curve["recall_1"] == sorted(curve["recall_1"])
    assert all(line["milliseconds_per_query"] > 0 for line in lines.values())


def test_true_neighbours_that_are_known_give_the_same_recall(succeeds, made, tmp_path):
    searched = lines_of(succeeds("index", "evaluate", made / "short", made / "Q.npy", "--json"))
    truth = np.load(made / "truth.npy")
    record = np.dtype([("length", "<i4"), ("row", "<i4", (10,))])
    rows = np.empty(len(truth), dtype=record)
    rows["length"], rows["row"] = 10, truth
    rows.tofile(tmp_path / "truth.ivecs")
    succeeds("index", "exact", made / "short", made / "Q.npy", "-k", 10, "--out", tmp_path / "own.npy")
    for file in (made / "truth.npy", tmp_path / "truth.ivecs", tmp_path / "own.npy"):
        known = lines_of(succeeds("index", "evaluate", made / "short", made / "Q.npy", "--truth", file, "--json"))
        assert "exact" not in known
        for search in ("codes", "re-ranked"):
            names = [name for name in known[search] if name.startswith("recall")]
            assert names == ["recall_1@1", "recall_1@10", "recall_1@100", "recall_10@10"]
            assert {name: known[search][name] for name in names} == {name: searched[search][name] for name in names}


def test_ids_may_be_words_and_numbers(succeeds, fails, made, tmp_path):
    def recalls(*arguments):
        lines = lines_of(succeeds("index", "evaluate", *arguments, "--json"))
        return [
            {name: lines[search][name] for name in lines[search] if name.startswith("recall")}
            for search in ("codes", "re-ranked")
        ]

    expected = recalls(made / "short", made / "Q.npy")
    assert recalls(made / "words", made / "Q.npy") == expected
    succeeds("index", "exact", made / "words", made / "Q.npy", "-k", 10, "--out", tmp_path / "own.npy")
    assert recalls(made / "words", made / "Q.npy", "--truth", tmp_path / "own.npy") == expected
    fails(
        2,
        ["no row with the id", "--truth"],
        "index",
        "evaluate",
        made / "words",
        made / "Q.npy",
        "--truth",
        made / "truth.npy",
    )


def test_codes_alone_need_true_neighbours_and_rounded_rows_are_taken_as_kept(succeeds, fails, made):
    fails(2, ["codes only", "--truth"], "index", "evaluate", made / "codes", made / "Q.npy")
    arguments = ("index", "evaluate", made / "codes", made / "Q.npy", "--truth", made / "truth.npy", "--json")
    assert list(lines_of(succeeds(*arguments))) == ["codes"]
    assert (
        lines_of(succeeds("index", "evaluate", made / "rounded", made / "Q.npy", "--json"))["exact"]["recall_1@1"] == 1
    )


def test_ranks_beyond_the_rows_are_left_out_and_few_queries_may_do(succeeds, made):
    arguments = ("--ranks", "1,400,401", "--rows", "7")
    document = succeeds("index", "evaluate", made / "short", made / "Q.npy", *arguments, "--json")
    assert document["n_queries"] == 7
    assert "recall_1@400" in lines_of(document)["codes"]
    assert "recall_1@401" not in lines_of(document)["codes"]


def test_queries_that_are_in_the_index_are_pointed_out(command, made, tmp_path, X):
    np.save(tmp_path / "Q.npy", np.concatenate([X[:3], X[400:]]))
    result = command("index", "evaluate", made / "short", tmp_path / "Q.npy")
    assert "3 of the queries are rows of" in " ".join(result.stderr.split())
    assert "are rows of" not in command("index", "evaluate", made / "short", made / "Q.npy").stderr


def test_several_indexes_are_compared_by_their_bytes(succeeds, made, tmp_path):
    places = [made / name for name in ("short", "long", "bits")]
    text = succeeds("index", "evaluate", *places, made / "Q.npy", "--plot", tmp_path / "bytes.png")
    assert (tmp_path / "bytes.png").read_bytes().startswith(PNG)
    table = [line.split() for line in text.splitlines()]
    assert [line[-6] for line in table if "codes" in line] == ["1", "4", "4"]


def test_one_index_has_one_picture_and_none_is_drawn_unasked(succeeds, made, tmp_path):
    document = succeeds("index", "evaluate", made / "long", made / "Q.npy", "--plot", tmp_path / "r.png", "--json")
    assert document["plot"] == str(tmp_path / "r.png")
    assert (tmp_path / "r.png").read_bytes().startswith(PNG)
    assert "plot" not in succeeds("index", "evaluate", made / "long", made / "Q.npy", "--json")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["Q.npy"], 2, ["Name one or more index directories"]),
        (["short", "Q.npy", "--ranks", "1,x"], 2, ["--ranks", "'1,x'"]),
        (["short", "Q.npy", "--ranks", "0"], 2, ["--ranks"]),
        (["short", "Q.npy", "-k", "401"], 2, ["-k 401", "400"]),
        (["short", "Q.npy", "--truth", "none.npy"], 2, ["no file none.npy"]),
        (["short", "Q.npy", "--truth", "truth.npy", "-k", "11"], 2, ["10 true neighbors", "-k 11"]),
        (["short", "Q.npy", "--truth", "Q.npy"], 1, ["Q.npy", "table of ids"]),
        (["short", "Q.npy", "--truth", "few.npy"], 1, ["3 queries", "60"]),
        (["short", "Q.npy", "--plot", "nowhere/r.png"], 2, ["no directory nowhere"]),
        (["none", "Q.npy"], 2, ["no index none"]),
    ],
)
def test_what_cannot_be_evaluated_is_one_sentence(fails, made, monkeypatch, arguments, code, words):
    monkeypatch.chdir(made)
    np.save("few.npy", np.zeros((3, 10), dtype=np.int64))
    fails(code, words, "index", "evaluate", *arguments)
