"""``mercer index build``, ``add``, ``remove``, ``stats`` and ``compact``: rows in and out of an index."""

import json
import shutil

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file

from mercer import Chi2, KernelIndex
from mercer.cli.index.parts import adding as index_adding
from mercer.cli.index.parts.ids import as_id

SMALL = ("--bytes", "2", "--components", "4", "--landmarks", "32", "--effort", "low", "--embedding", "kpca")
PARAMETERS = {"bytes_per_item": 2, "n_components": 4, "n_landmarks": 32, "effort": "low", "embedding": "kpca"}
PARTS = ("build", "add", "remove", "search", "exact", "stats", "compact", "evaluate")


@pytest.fixture(scope="module")
def counts():
    """Rows of small whole numbers, no two alike."""
    X = np.random.default_rng(0).integers(0, 200, size=(300, 6)).astype(np.float32)
    assert len(np.unique(X, axis=0)) == len(X)
    return X


@pytest.fixture(scope="module")
def made(tmp_path_factory, counts):
    """An index of the first 200 rows."""
    place = tmp_path_factory.mktemp("index") / "made"
    with KernelIndex("chi2", **PARAMETERS, random_state=0).fit(counts).persist(place) as index:
        index.add(counts[:200])
    return place


@pytest.fixture
def place(made, tmp_path):
    """A copy of that index, to be changed."""
    shutil.copytree(made, tmp_path / "base.index")
    return tmp_path / "base.index"


@pytest.fixture
def more(tmp_path, counts):
    """A file with the other 100 rows."""
    np.save(tmp_path / "more.npy", counts[200:])
    return tmp_path / "more.npy"


def contents(place):
    """Every row of an index by its id, as it is kept."""
    with KernelIndex.open(place) as index:
        rows = index.rows_
        alive = np.flatnonzero(~rows.snapshot.removed)
        kept = rows.take(alive)
        kept = kept.toarray() if sp.issparse(kept) else kept
        return dict(zip(rows.ids.at(alive).tolist(), map(tuple, kept.tolist()), strict=True))


def numbered(X, first=0):
    return {first + i: tuple(row) for i, row in enumerate(X.tolist())}


def test_the_bare_command_and_every_part_have_help_with_examples(succeeds):
    assert succeeds("index").strip() == succeeds("index", "--help").strip()
    for part in PARTS:
        text = succeeds("index", part, "--help")
        assert "--threads" in text
        assert f"mercer index {part}" in text.split("Examples")[1]
        assert "<bool>" not in text


# ---- build


def test_an_index_is_built_as_the_library_builds_it(succeeds, tmp_path, counts):
    np.save(tmp_path / "X.npy", counts)
    arguments = ("--kernel", "js", "--measure", "distance", "--no-normalize", "--vectors", "float16", "--seed", "3")
    document = succeeds(
        "index", "build", tmp_path / "X.npy", *SMALL, *arguments, "--oversample", "4", "--out", tmp_path / "i", "--json"
    )
    same = KernelIndex(
        "js", **PARAMETERS, measure="distance", normalize=False, vectors="float16", oversample=4, random_state=3
    )
    same.fit(counts).add(counts)
    with KernelIndex.open(tmp_path / "i") as index:
        assert (index.oversample, index.random_state, index.vectors) == (4, 3, "float16")
        for found, expected in zip(index.search(counts[:9], 5), same.search(counts[:9], 5), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert document["plan"] == index.plan_ == same.plan_
    assert (document["rows"], document["columns"], document["fitted_on"]) == (300, 6, 300)
    assert document["bytes_per_item"] == 2
    assert document["bytes_on_disk"]["codes"] == 600
    assert document["bytes_on_disk"]["kept_rows"] == 300 * 6 * 2


def test_a_kernel_takes_parameters_and_a_fit_a_part_of_the_rows(succeeds, tmp_path, counts):
    np.save(tmp_path / "X.npy", counts / 1000)
    arguments = (*SMALL, "--kernel", "rbf", "-p", "gamma=0.5", "--fit-rows", "100")
    text = succeeds("index", "build", tmp_path / "X.npy", *arguments, "--out", tmp_path / "i")
    assert "RBF(gamma=0.5)" in text
    assert "100 rows" in text
    assert contents(tmp_path / "i") == numbered((counts / 1000).astype(np.float32))


def test_a_dry_run_shows_the_plan_and_writes_nothing(succeeds, tmp_path, counts):
    np.save(tmp_path / "X.npy", counts)
    text = succeeds("index", "build", tmp_path / "X.npy", *SMALL, "--out", tmp_path / "i", "--dry-run")
    assert "Plan for 300 rows" in text
    assert "kpca, 4 components" in text
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["--out", "--dry-run"]),
        (["--out", "i", "--kernel", "chi3"], ["no kernel 'chi3'", "'chi2'"]),
        (["--out", "i", "--code", "flat", "--bytes", "3"], ["multiple of 4"]),
        (["--out", "i", "--code", "lsh", "--no-normalize"], ["inner products"]),
        (["--out", "i", "--lists", "few"], ["--lists", "'few'"]),
        (["--out", "i", "--oversample", "0.5"], ["--oversample"]),
        (["--out", "i", "--ids", "nowhere.txt"], ["no file nowhere.txt"]),
        (["--out", "i", "--ids", "X.npy", "--id", "1"], ["--id and --ids", "cannot be combined"]),
        (["--out", "X.npy"], ["'X.npy' is a file"]),
        (["--out", "."], ["empty directory", "'X.npy'"]),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_learnt(
    fails, tmp_path, monkeypatch, counts, arguments, words
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KernelIndex, "fit", lambda *_: pytest.fail("the fit was begun"))
    np.save("X.npy", counts)
    fails(2, words, "index", "build", "X.npy", *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["X.npy"]


def test_an_index_is_not_built_over_another(fails, place, more):
    fails(2, ["already holds an index"], "index", "build", more, "--out", place)


# ---- add


def write(X, path):
    """The same rows in the format that the suffix says."""
    suffix = path.suffix[1:]
    if suffix == "npz":
        sp.save_npz(path, sp.csr_matrix(X))
    elif suffix == "csv":
        np.savetxt(path, X, delimiter=",", fmt="%d")
    elif suffix == "svm":
        dump_svmlight_file(X, np.zeros(len(X)), str(path), zero_based=False)
    elif suffix == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path)
    else:
        values = {"fvecs": "<f4", "bvecs": "u1"}[suffix]
        record = np.dtype([("length", "<i4"), ("row", values, (X.shape[1],))])
        rows = np.empty(len(X), dtype=record)
        rows["length"], rows["row"] = X.shape[1], X
        rows.tofile(path)


@pytest.mark.parametrize("suffix", ["npz", "csv", "svm", "parquet", "fvecs", "bvecs"])
def test_rows_of_every_format_are_added_as_they_are(succeeds, place, tmp_path, counts, suffix):
    write(counts[200:], tmp_path / f"more.{suffix}")
    succeeds("index", "add", place, tmp_path / f"more.{suffix}")
    assert contents(place) == numbered(counts)


@pytest.mark.parametrize("sparse", [False, True])
def test_it_does_not_matter_how_rows_are_cut_into_blocks(succeeds, tmp_path, monkeypatch, counts, sparse):
    source = tmp_path / ("X.npz" if sparse else "X.npy")
    write(counts, source) if sparse else np.save(source, counts)
    succeeds("index", "build", source, *SMALL, "--out", tmp_path / "whole")
    monkeypatch.setattr(index_adding, "BLOCK_ROWS", 64)
    succeeds("index", "build", source, *SMALL, "--out", tmp_path / "cut")
    assert contents(tmp_path / "whole") == contents(tmp_path / "cut") == numbered(counts)
    with KernelIndex.open(tmp_path / "whole") as whole, KernelIndex.open(tmp_path / "cut") as cut:
        np.testing.assert_array_equal(whole.rows_.column("codes"), cut.rows_.column("codes"))


def test_rows_without_ids_are_numbered_after_the_largest(succeeds, place, more, counts):
    succeeds("index", "remove", place, 3)
    document = succeeds("index", "add", place, more, "--skip", "90", "--json")
    assert (document["added"], document["rows"]) == (10, 209)
    assert (document["first_id"], document["last_id"]) == (200, 209)
    expected = numbered(counts[:200]) | numbered(counts[290:], 200)
    del expected[3]
    assert contents(place) == expected


def test_ids_come_from_a_column_or_a_file(succeeds, place, tmp_path, counts):
    names = ["a7", "012", "12000", "-5", "zwölf, ½"]
    rows = [",".join([f'"{name}"', *map(str, row.tolist())]) for name, row in zip(names, counts[200:205], strict=True)]
    (tmp_path / "named.csv").write_text("\n".join(["name,a,b,c,d,e,f", *rows]) + "\n")
    succeeds("index", "add", place, tmp_path / "named.csv", "--id", "name")
    expected = ["a7", "012", 12000, -5, "zwölf, ½"]
    assert contents(place) == numbered(counts[:200]) | {
        name: tuple(row.tolist()) for name, row in zip(expected, counts[200:205], strict=True)
    }
    np.save(tmp_path / "X.npy", counts[205:208])
    (tmp_path / "ids.txt").write_text("b1\r\n\n700\n b3 \n")
    succeeds("index", "add", place, tmp_path / "X.npy", "--ids", tmp_path / "ids.txt")
    np.save(tmp_path / "ids.npy", np.array([900, 901, 902]))
    succeeds("index", "add", place, tmp_path / "X.npy", "--ids", tmp_path / "ids.npy")
    found = contents(place)
    rows = [tuple(row) for row in counts[205:208].tolist()]
    assert [found[key] for key in ("b1", 700, "b3")] == [found[key] for key in (900, 901, 902)] == rows


@given(st.text(min_size=1), st.integers())
def test_an_id_is_shown_as_it_was_given(word, number):
    assert str(as_id(word)) == word
    assert as_id(str(number)) == (number if -(2**63) <= number < 2**63 else str(number))


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ("\n".join(map(str, range(1000, 1099))), ["100 rows and 99 ids", "ids.txt"]),
        ("\n".join(map(str, [*range(1000, 1099), 1007])), ["1007 occurs more than once", "ids.txt"]),
        ("\n".join(["x", "y", *map(str, range(97)), "x"]), ["'x' occurs more than once"]),
        ("\n".join(map(str, [*range(1000, 1098), 17, 18])), ["2 of the ids", "17", "Nothing was added"]),
    ],
)
def test_ids_are_checked_before_a_row_is_added(fails, place, more, tmp_path, monkeypatch, ids, words):
    monkeypatch.setattr(index_adding, "BLOCK_ROWS", 10)
    before = contents(place)
    (tmp_path / "ids.txt").write_text(ids)
    fails(1, words, "index", "add", place, more, "--ids", tmp_path / "ids.txt")
    assert contents(place) == before


@pytest.mark.parametrize(("value", "words"), [(-1, ["row 67, column 2", "values >= 0"]), (np.nan, ["row 67", "nan"])])
def test_a_bad_row_is_found_before_a_row_is_added(fails, place, more, monkeypatch, value, words):
    monkeypatch.setattr(index_adding, "BLOCK_ROWS", 30)
    X = np.load(more)
    X[67, 2] = value
    np.save(more, X)
    before = contents(place)
    fails(1, words, "index", "add", place, more)
    assert contents(place) == before


def test_rows_of_another_width_are_refused(fails, place, tmp_path):
    np.save(tmp_path / "wide.npy", np.ones((3, 7)))
    fails(1, ["7 columns", "takes 6"], "index", "add", place, tmp_path / "wide.npy")
    fails(2, ["--skip 3 skips all"], "index", "add", place, tmp_path / "wide.npy", "--skip", 3, "--label", 0)


def test_a_second_writer_is_refused(fails, place, more):
    with KernelIndex.open(place, "w"):
        message = fails(1, ["base.index"], "index", "add", place, more)
    assert "writ" in message


# ---- what ends early


@pytest.mark.parametrize("arguments", [[], ["--json"]])
def test_after_an_interruption_rows_that_were_added_stay_and_the_rest_can_follow(
    command, succeeds, place, more, monkeypatch, counts, arguments
):
    original, calls = KernelIndex.add, []

    def interrupted(self, X, ids=None, data=None):
        original(self, X, ids, data)  # the interruption comes when the third block is on the disk
        calls.append(len(X))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return self

    monkeypatch.setattr(index_adding, "BLOCK_ROWS", 20)
    with monkeypatch.context() as patched:
        patched.setattr(KernelIndex, "add", interrupted)
        result = command("index", "add", place, more, *arguments)
    assert result.exit_code == 130
    assert "mercer: interrupted." in result.stderr
    if arguments:
        assert json.loads(result.stdout) == {"index": str(place), "added": 60, "skip": 60, "interrupted": True}
    else:
        assert "first 60 of 100 rows" in " ".join(result.stderr.split())
        assert "--skip 60" in " ".join(result.stderr.split())
    assert contents(place) == numbered(counts[:260])
    succeeds("index", "add", place, more, "--skip", 60)
    assert contents(place) == numbered(counts)


def test_a_failure_half_way_says_what_stays(fails, tmp_path, monkeypatch, counts):
    X = counts.copy()
    X[150, 0] = 1e6  # beyond float16
    np.save(tmp_path / "X.npy", X)
    monkeypatch.setattr(index_adding, "BLOCK_ROWS", 100)
    words = ["1e+06", "first 100 of 300 rows", "--skip 100"]
    arguments = (*SMALL, "--vectors", "float16", "--out", tmp_path / "i")
    fails(1, words, "index", "build", tmp_path / "X.npy", *arguments)
    assert contents(tmp_path / "i") == numbered(counts[:100])


# ---- remove, stats, compact


def test_rows_are_removed_by_id_from_the_line_a_file_or_a_pipe(succeeds, place, tmp_path, counts):
    assert succeeds("index", "remove", place, 5, 7, 5, "--json")["removed"] == 2
    (tmp_path / "ids.txt").write_text("9\n11\n")
    succeeds("index", "remove", place, "--ids", tmp_path / "ids.txt")
    succeeds("index", "remove", place, "--ids", "-", input="13\n")
    expected = numbered(counts[:200])
    for gone in (5, 7, 9, 11, 13):
        del expected[gone]
    assert contents(place) == expected


def test_an_unknown_id_removes_nothing(fails, place, tmp_path):
    before = contents(place)
    fails(2, ["no row with the id 'x'", "base.index"], "index", "remove", place, 5, "x")
    (tmp_path / "ids.txt").write_text("5\n200\n")
    fails(2, ["id 200", "ids.txt"], "index", "remove", place, "--ids", tmp_path / "ids.txt")
    fails(2, ["either by their ids or by a file"], "index", "remove", place)
    fails(2, ["either by their ids or by a file"], "index", "remove", place, 5, "--ids", tmp_path / "ids.txt")
    fails(2, ["no file"], "index", "remove", place, "--ids", tmp_path / "none.txt")
    assert contents(place) == before


def test_a_number_that_is_a_text_in_the_index_is_found(succeeds, place, counts):
    with KernelIndex.open(place, "w") as index:
        index.add(counts[200:202], ["777", "8"])  # the number 8 is there too, and is meant first
    succeeds("index", "remove", place, 777, 8)
    found = contents(place)
    assert "8" in found
    assert not {"777", 8} & found.keys()


def test_stats_tell_what_there_is_and_compact_gives_back_what_is_not(succeeds, place, counts):
    succeeds("index", "remove", place, *range(100))
    before = succeeds("index", "stats", place, "--json")
    assert (before["rows"], before["removed"], before["vectors"], before["columns"]) == (100, 100, "uint8", 6)
    assert "100 removed" in succeeds("index", "stats", place)
    document = succeeds("index", "compact", place, "--json")
    after = succeeds("index", "stats", place, "--json")
    assert (after["rows"], after["removed"]) == (100, 0)
    assert document["bytes_before"] == before["bytes_on_disk"]["total"] > document["bytes"]
    assert after["bytes_on_disk"]["codes"] == before["bytes_on_disk"]["codes"] / 2
    assert contents(place) == {key: row for key, row in numbered(counts[:200]).items() if key >= 100}


def test_damage_is_named_by_verify_and_not_copied_by_compact(succeeds, fails, place):
    assert succeeds("index", "stats", place, "--verify", "--json")["verified"] is True
    (segment,) = place.glob("generation-*/*.codes")
    content = bytearray(segment.read_bytes())
    content[17] ^= 1
    segment.write_bytes(content)
    succeeds("index", "stats", place)
    fails(1, [segment.name, "checksum"], "index", "stats", place, "--verify")
    fails(1, [segment.name, "checksum"], "index", "compact", place)


def test_what_is_no_index_is_refused_by_name(fails, tmp_path):
    fails(2, ["no index", "mercer index build"], "index", "stats", tmp_path / "none")
    (tmp_path / "file").touch()
    fails(2, ["is a file"], "index", "stats", tmp_path / "file")
    fails(1, ["is not an index"], "index", "stats", tmp_path)


def test_the_same_seed_gives_the_same_index_on_one_thread_and_two(succeeds, tmp_path, counts):
    np.save(tmp_path / "X.npy", counts)
    for threads in (1, 2):
        out = tmp_path / f"{threads}"
        succeeds("index", "build", tmp_path / "X.npy", *SMALL, "--out", out, "--threads", threads, "--seed", 5)
    with KernelIndex.open(tmp_path / "1") as one, KernelIndex.open(tmp_path / "2") as two:
        np.testing.assert_array_equal(one.rows_.column("codes"), two.rows_.column("codes"))
        assert one.kernel == two.kernel == Chi2()


def test_bytes_that_rows_cannot_use_are_noted(command, more, tmp_path):
    build = ("index", "build", more, "--kernel", "linear", "--components", 2, "--landmarks", 8, "--embedding", "kpca")
    told = command(*build, "--bytes", 9, "--out", tmp_path / "long.index")
    assert told.exit_code == 0, told.stderr
    assert "--bytes 9 is more than these rows can use; codes take 2 bytes." in told.stderr
    assert "--bytes 9 requires codes" in " ".join(told.stdout.split())
    assert "-0.0%" not in told.stdout
