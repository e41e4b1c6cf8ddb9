"""``mercer index search`` and ``exact``: what the library finds, and how it is told."""

import csv
import io
import json

import numpy as np
import pytest

from mercer import KernelIndex, exact_knn
from mercer._base.tables import ArgumentError
from mercer.cli.index.parts.matches import Matches, write_matches
from mercer.cli.models import learning

PARAMETERS = {"bytes_per_item": 2, "n_components": 4, "n_landmarks": 32, "effort": "low", "embedding": "kpca"}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.ones(6), size=330).astype(np.float32)


@pytest.fixture(scope="module")
def made(tmp_path_factory, X):
    """Indexes of the first 300 rows, and the other 30 as queries."""
    folder = tmp_path_factory.mktemp("indexes")
    words = [f"r{i}" if i % 2 else i for i in range(300)]
    for name, further, ids in [
        ("similar", {}, None),
        ("far", {"measure": "distance"}, None),
        ("rounded", {"vectors": "float16"}, None),
        ("words", {}, words),
    ]:
        with KernelIndex("chi2", **PARAMETERS, **further, random_state=0).fit(X[:300]).persist(folder / name) as index:
            index.add(X[:300], ids)
    np.save(folder / "Q.npy", X[300:])
    return folder


@pytest.fixture
def index(made):
    with KernelIndex.open(made / "similar") as opened:
        yield opened


def matches(document):
    return [(each["ids"], each["similarities"]) for each in document["matches"]]


def same(found, ids, values):
    assert [each for each, _ in found] == [list(each) for each in ids]
    assert [each for _, each in found] == [list(each) for each in values]


def test_a_search_finds_what_the_library_finds(succeeds, made, index, X):
    document = succeeds("index", "search", made / "similar", made / "Q.npy", "-k", 4, "--json")
    same(matches(document), *(each.tolist() for each in index.search(X[300:], 4)))
    assert (document["k"], document["measure"], document["exact"], document["reranked"]) == (
        4,
        "similarity",
        False,
        True,
    )
    raw = succeeds("index", "search", made / "similar", made / "Q.npy", "-k", 4, "--no-rerank", "--json")
    same(matches(raw), *(each.tolist() for each in index.search(X[300:], 4, rerank=False)))
    assert raw["reranked"] is False
    assert matches(raw) != matches(document)


def test_the_whole_of_the_nearest_rows_is_found_on_request(succeeds, made):
    asked = made / "similar", made / "Q.npy", "-k", 4, "--json"
    document = succeeds("index", "search", *asked, "--recall", 1)
    assert document["recall"] == 1
    assert matches(document) == matches(succeeds("index", "exact", *asked))


def test_queries_are_answered_block_by_block(succeeds, made, monkeypatch):
    arguments = ("index", "exact", made / "similar", made / "Q.npy", "-k", 4, "--json")
    whole = succeeds(*arguments)
    monkeypatch.setattr(learning, "_MOST_ROWS", 7)
    cut = succeeds(*arguments)
    assert cut["matches"] == whole["matches"]
    assert cut["certificate"] == whole["certificate"]


def test_exact_is_brute_force_and_its_certificate_says_what_it_cost(succeeds, made, X):
    document = succeeds("index", "exact", made / "similar", made / "Q.npy", "-k", 5, "--json")
    ids, values = exact_knn("chi2", X[:300], X[300:], 5, normalize=True)
    same(matches(document), ids.tolist(), values.tolist())
    certificate = document["certificate"]
    assert certificate["exact"] is True
    assert certificate["rows"] == 300
    assert len(certificate["kernel_evaluations"]) == 30
    assert all(5 <= count <= 300 for count in certificate["kernel_evaluations"])
    text = succeeds("index", "exact", made / "similar", made / "Q.npy", "-k", 5)
    assert "Certificate: 30 queries over 300 rows, identical to brute force" in text


def test_a_probable_search_states_its_confidence(succeeds, made):
    document = succeeds("index", "exact", made / "similar", made / "Q.npy", "--probable", "--json")
    certificate = document["certificate"]
    assert certificate["exact"] is False
    assert 0.9 < certificate["confidence"] <= 1
    assert "probable, confidence" in succeeds("index", "exact", made / "similar", made / "Q.npy", "--probable")


def test_rounded_rows_are_searched_exactly_only_as_they_are_stored(succeeds, fails, made, X):
    fails(2, ["300 of its rows rounded", "--stored"], "index", "exact", made / "rounded", made / "Q.npy")
    document = succeeds("index", "exact", made / "rounded", made / "Q.npy", "--stored", "-k", 5, "--json")
    kept = X[:300].astype(np.float16).astype(np.float32)
    ids, values = exact_knn("chi2", kept, X[300:], 5, normalize=True)
    same(matches(document), ids.tolist(), values.tolist())


@pytest.mark.parametrize("verb", ["search", "exact"])
def test_all_rows_within_a_limit(succeeds, made, index, X, verb):
    document = succeeds("index", verb, made / "similar", made / "Q.npy", "--min-similarity", 0.93, "--json")
    ids, values = index.range_search(X[300:], min_similarity=0.93, exact=verb == "exact")
    same(matches(document), [each.tolist() for each in ids], [each.tolist() for each in values])
    assert document["limit"] == 0.93
    few = succeeds("index", verb, made / "similar", made / "Q.npy", "--min-similarity", 0.93, "-k", 2, "--json")
    assert [ids for ids, _ in matches(few)] == [ids[:2] for ids, _ in matches(document)]
    assert {len(ids) for ids, _ in matches(document)} > {0, 2, 3}  # the limit cuts at different places


def test_an_index_of_distances_has_limits_of_distance(succeeds, fails, made):
    arguments = ("index", "search", made / "far", made / "Q.npy")
    document = succeeds(*arguments, "--max-distance", 0.4, "--json")
    found = [value for each in document["matches"] for value in each["distances"]]
    assert found
    assert max(found) <= 0.4
    fails(2, ["distance", "--max-distance, not --min-similarity"], *arguments, "--min-similarity", 0.9)
    fails(
        2, ["similarity", "not --max-distance"], "index", "exact", made / "similar", made / "Q.npy", "--max-distance", 1
    )


@pytest.mark.parametrize("verb", ["search", "exact"])
def test_only_rows_of_the_filter_are_found(succeeds, fails, made, tmp_path, verb):
    (tmp_path / "some.txt").write_text("r1\n4\nr9\n")
    arguments = ("index", verb, made / "words", made / "Q.npy", "-k", 5)
    document = succeeds(*arguments, "--filter", tmp_path / "some.txt", "--json")
    # fewer than k pass: what is not there is not shown
    assert all(sorted(map(str, ids)) == ["4", "r1", "r9"] for ids, _ in matches(document))
    assert matches(succeeds(*arguments, "--filter", "-", "--json", input="4\nr9\nr1\n")) == matches(document)
    (tmp_path / "some.txt").write_text("r1\n5\n")
    fails(2, ["id 5", "some.txt"], *arguments, "--filter", tmp_path / "some.txt")


@pytest.mark.parametrize("name", ["similar", "words"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet", "json", "npy"])
def test_every_format_holds_the_same(succeeds, made, tmp_path, name, suffix):
    arguments = ("index", "search", made / name, made / "Q.npy", "-k", 3)
    expected = [
        (query, rank, id, value)
        for query, (ids, values) in enumerate(matches(succeeds(*arguments, "--json")))
        for rank, (id, value) in enumerate(zip(ids, values, strict=True), start=1)
    ]
    out = tmp_path / f"found.{suffix}"
    assert succeeds(*arguments, "--out", out) == ""
    words = [(query, rank, str(id), value) for query, rank, id, value in expected]
    as_stored = expected if name == "similar" else words
    if suffix in ("csv", "tsv"):
        head, *lines = csv.reader(io.StringIO(out.read_text()), delimiter="," if suffix == "csv" else "\t")
        assert head == ["query", "rank", "id", "similarity"]
        assert [(int(query), int(rank), id, float(value)) for query, rank, id, value in lines] == words
    elif suffix == "json":
        assert matches(json.loads(out.read_text())) == matches(succeeds(*arguments, "--json"))
    elif suffix == "npy":
        assert np.load(out).ravel().tolist() == [id for _, _, id, _ in as_stored]
        assert np.load(out).shape == (30, 3)
    else:
        table = np.load(out) if suffix == "npz" else pytest.importorskip("pyarrow.parquet").read_table(out).to_pydict()
        columns = [np.asarray(table[title]).tolist() for title in ("query", "rank", "id", "similarity")]
        assert list(zip(*columns, strict=True)) == as_stored


def test_the_table_shows_labels_and_the_first_queries(succeeds, made, tmp_path, X):
    np.savez(tmp_path / "Q.npz", X=X[300:], y=np.array([f"query-{i}" for i in range(30)]))
    text = succeeds("index", "search", made / "similar", tmp_path / "Q.npz", "-k", 2)
    assert "query-19" in text
    assert "query-20" not in text
    assert "query-29" in succeeds("index", "search", made / "similar", tmp_path / "Q.npz", "-k", 2, "--quiet")
    document = succeeds("index", "search", made / "similar", tmp_path / "Q.npz", "--json")
    assert document["matches"][7]["label"] == "query-7"
    assert len(document["matches"][7]["ids"]) == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-k", "301"], ["-k 301", "300"]),
        (["-k", "0"], ["-k"]),
        (["--out", "found.xyz"], ["found.xyz", "parquet"]),
        (["--out", "-", "--json"], ["standard output"]),
        (["--out", "nowhere/found.csv"], ["no directory nowhere"]),
        (["--min-similarity", "0.9", "--no-rerank"], ["--no-rerank"]),
        (["--filter", "none.txt"], ["no file none.txt"]),
        (["--recall", "0.9", "--no-rerank"], ["--no-rerank and --recall cannot be combined"]),
        (["--recall", "0.9", "--min-similarity", "0.9"], ["--recall works only with -k"]),
        (["--recall", "1.5"], ["--recall"]),
    ],
)
def test_a_search_that_cannot_be_is_a_command_line_to_change(command, made, arguments, words):
    result = command("index", "search", made / "similar", made / "Q.npy", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert all(word in result.stderr for word in words), result.stderr


def test_ids_of_different_numbers_of_rows_do_not_fit_npy(fails, made, tmp_path):
    arguments = ("--min-similarity", 0.93, "--out", tmp_path / "found.npy")
    fails(2, ["npy", "csv or parquet"], "index", "search", made / "similar", made / "Q.npy", *arguments)
    fails(2, ["--probable and --stored"], "index", "exact", made / "far", made / "Q.npy", "--probable", "--stored")
    np.save(tmp_path / "wide.npy", np.ones((2, 7)))
    fails(1, ["7 columns", "takes 6"], "index", "search", made / "far", tmp_path / "wide.npy")
    np.save(tmp_path / "negative.npy", -np.ones((2, 6)))
    fails(1, ["needs values >= 0"], "index", "search", made / "far", tmp_path / "negative.npy")


def test_an_empty_index_has_nothing_to_find(fails, made, tmp_path, X):
    with KernelIndex("chi2", **PARAMETERS, random_state=0).fit(X).persist(tmp_path / "empty"):
        pass
    fails(1, ["no rows", "mercer index add"], "index", "search", tmp_path / "empty", made / "Q.npy")


def test_ids_that_end_with_a_zero_character_are_carried_or_refused(tmp_path):
    """Arrays of texts drop it, so that another id would be written."""
    found = Matches([np.array(["a\0", "b"], dtype=object)], [np.array([1.0, 0.5])], "similarity", None, None)
    for format in ("csv", "tsv", "npy", "npz"):
        with pytest.raises(ArgumentError, match=f"{format} cannot store ids that end with a NUL character"):
            write_matches(str(tmp_path / f"found.{format}"), found, format, {})
    write_matches(str(tmp_path / "found.json"), found, "json", {})
    assert json.loads((tmp_path / "found.json").read_text())["matches"][0]["ids"] == ["a\0", "b"]
