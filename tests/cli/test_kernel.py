"""``mercer kernel``: the numbers are the library's, the rest is how they get in and out."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import KERNELS, get_kernel


@pytest.fixture
def X_npy(tmp_path, histograms):
    np.save(tmp_path / "X.npy", histograms)
    return tmp_path / "X.npy"


def test_the_help_names_every_kernel(succeeds):
    words = succeeds("kernel", "--help").replace("│", " ").split()
    named = {word.strip(".,()") for word in words}
    concrete = {name for name in KERNELS if name not in ("callable", "sum", "product", "exponential")}
    assert concrete <= named


# ---- the matrix


def test_a_small_matrix_is_printed(succeeds, X_npy, histograms):
    K = get_kernel("chi2")(histograms)
    document = succeeds("kernel", X_npy, "--json")
    assert document["kernel"] == "chi2"
    assert document["X"] == {"source": str(X_npy), "rows": 6, "columns": 4, "dtype": "float32", "sparse": False}
    np.testing.assert_array_equal(np.float32(document["values"]), K)
    assert document["symmetric"] is True
    assert document["smallest_eigenvalue"] == pytest.approx(0, abs=1e-4)  # two rows are equal
    table = succeeds("kernel", X_npy, "--quiet").split("\n")
    assert f"{K[1, 2]:.4g}" in next(line for line in table if line.split()[:1] == ["1"])


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv"])
@pytest.mark.parametrize("working_memory", [1024, 1e-4])  # MiB: one block, and a block per few rows
def test_the_matrix_is_written_whole_however_it_is_cut(succeeds, X_npy, histograms, suffix, working_memory):
    import sklearn

    out = X_npy.with_name(f"K.{suffix}")
    with sklearn.config_context(working_memory=working_memory):
        assert succeeds("kernel", X_npy, "--kernel", "js", "--out", out, "--quiet") == ""
    K = np.load(out)["K"] if suffix == "npz" else np.load(out) if suffix == "npy" else np.loadtxt(out, delimiter=",")
    np.testing.assert_array_equal(K.astype(np.float32), get_kernel("js")(histograms))


def test_a_large_matrix_is_summarised(succeeds, tmp_path):
    X = np.random.default_rng(1).random((40, 5))
    np.save(tmp_path / "X.npy", X)
    K = get_kernel("intersection")(X)
    document = succeeds("kernel", tmp_path / "X.npy", "--kernel", "hik", "--json")
    assert "values" not in document
    assert document["shape"] == [40, 40]
    assert document["dtype"] == "float64"
    assert document["mean"] == pytest.approx(K.mean())
    assert document["max"] == K.max()
    assert document["smallest_eigenvalue"] == pytest.approx(np.linalg.eigvalsh(K)[0], abs=1e-9)
    assert "smallest eigenvalue" in succeeds("kernel", tmp_path / "X.npy", "--kernel", "hik")


def test_parameters_reach_the_kernel(succeeds, X_npy, histograms):
    def values(*arguments):
        return np.array(succeeds("kernel", X_npy, "--json", "--dtype", "float64", *arguments)["values"])

    X = histograms.astype(np.float64)
    np.testing.assert_array_equal(values("-k", "power-mean", "-p", "p=-2"), get_kernel("power-mean", p=-2)(X))
    np.testing.assert_array_equal(values("-k", "rbf", "--param", "gamma=0.5"), get_kernel("rbf", gamma=0.5)(X))
    np.testing.assert_array_equal(values("--normalize"), get_kernel("chi2").normalized()(X))
    np.testing.assert_array_equal(values("--distance"), get_kernel("chi2").distance(X))
    assert succeeds("kernel", X_npy, "-k", "power-mean", "-p", "p=-inf", "--json")["parameters"]["p"] == "-inf"


def test_signed_admits_negative_values(succeeds, fails, tmp_path, histograms):
    np.save(tmp_path / "X.npy", histograms - 4)
    K = np.array(succeeds("kernel", tmp_path / "X.npy", "--signed", "--json")["values"], dtype=np.float32)
    np.testing.assert_array_equal(K, get_kernel("chi2", signed=True)(histograms - 4))
    fails(1, ["signed"], "kernel", tmp_path / "X.npy")


# ---- best matches


def test_top_gives_the_best_other_rows(succeeds, X_npy, histograms):
    K = get_kernel("js")(histograms).astype(np.float64)
    np.fill_diagonal(K, -np.inf)
    expected = np.argsort(-K, axis=1, kind="stable")[:, :2]
    document = succeeds("kernel", X_npy, "--kernel", "js", "--top", "2", "--json")
    assert [match["row"] for match in document["matches"]] == list(range(6))
    found = np.array([match["indices"] for match in document["matches"]])
    scores = np.array([match["scores"] for match in document["matches"]])
    np.testing.assert_array_equal(np.take_along_axis(K, found, axis=1), np.take_along_axis(K, expected, axis=1))
    np.testing.assert_allclose(scores, np.take_along_axis(K, found, axis=1), rtol=1e-6)


def test_top_by_distance_gives_the_nearest(succeeds, X_npy, histograms):
    D = get_kernel("chi2").distance(histograms)
    document = succeeds("kernel", X_npy, X_npy, "--distance", "--top", "3", "--json")
    for row, match in enumerate(document["matches"]):
        assert match["scores"] == sorted(match["scores"])
        np.testing.assert_allclose(match["scores"], np.sort(D[row])[:3], atol=1e-6)
    assert document["measure"] == "distance"
    others = succeeds("kernel", X_npy, "--distance", "--top", "1", "--json")["matches"]
    assert (others[0]["indices"], others[5]["indices"]) == ([5], [0])  # the twins


def test_matches_carry_labels_and_are_written_as_columns(succeeds, tmp_path):
    (tmp_path / "base.csv").write_text('a,b,kind\n1,0,"red, dark"\n0,1,blue\n')
    (tmp_path / "queries.csv").write_text("a,b,kind\n0.9,0.1,unknown\n")
    files = (tmp_path / "queries.csv", tmp_path / "base.csv", "--label", "kind", "--kernel", "linear", "--top", "5")
    matches = succeeds("kernel", *files, "--json")["matches"]
    assert matches[0]["label"] == "unknown"
    assert matches[0]["labels"] == ["red, dark", "blue"]
    assert "0 red, dark (0.9)  1 blue (0.1)" in succeeds("kernel", *files)
    succeeds("kernel", *files, "--out", tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text() == (
        'row,rank,match,similarity,label\n0,1,0,0.9,"red, dark"\n0,2,1,0.1,blue\n'
    )
    succeeds("kernel", *files, "--out", tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as columns:
        assert columns["match"].tolist() == [0, 1]


def test_long_lists_are_cut_for_readers_and_complete_for_quiet(command, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(50, dtype=np.float32) + 1)
    shown = command("kernel", tmp_path / "X.npy", "--top", "1")
    assert "other 30 rows" in shown.stderr
    complete = command("kernel", tmp_path / "X.npy", "--top", "1", "--quiet")
    assert complete.stderr == ""
    assert complete.stdout.count("(") == 50 + 1


def test_sparse_input_gives_what_dense_input_gives(succeeds, tmp_path, X_npy, histograms):
    sp.save_npz(tmp_path / "X.npz", sp.csr_matrix(histograms))
    dense = succeeds("kernel", X_npy, "--kernel", "js", "--json")
    sparse = succeeds("kernel", tmp_path / "X.npz", "--kernel", "js", "--json")
    assert sparse["X"]["sparse"] is True
    np.testing.assert_allclose(sparse["values"], dense["values"], rtol=1e-6)


# ---- pipes


def test_csv_and_npy_pass_through_pipes(process, command, histograms):
    K = get_kernel("linear")(histograms)
    text = "\n".join(",".join(map(str, row)) for row in histograms).encode()
    to_npy = ("kernel", "-", "--format", "csv", "-k", "linear", "--out", "-", "--out-format", "npy", "--quiet")
    code, out, err = process(*to_npy, input=text)
    assert (code, err) == (0, "")
    np.testing.assert_array_equal(np.load(io.BytesIO(out)), K)
    buffer = io.BytesIO()
    np.save(buffer, histograms)
    result = command("kernel", "-", "--format", "npy", "-k", "linear", "--out", "-", input=buffer.getvalue())
    assert result.exit_code == 0
    np.testing.assert_array_equal(np.loadtxt(io.StringIO(result.stdout), delimiter=",", dtype=np.float32), K)


# ---- what goes wrong


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["no file", "nowhere.npy"], ["nowhere.npy"]),
        (2, ["chi3"], ["X.npy", "--kernel", "chi3"]),
        (2, ["NAME=VALUE", "'p'"], ["X.npy", "--param", "p"]),
        (2, ["frequency"], ["X.npy", "--param", "frequency=3"]),
        (2, ["p"], ["X.npy", "--kernel", "power-mean", "--param", "p=2"]),
        (2, ["signed"], ["X.npy", "--kernel", "rbf", "--signed"]),
        (2, ["'excel'"], ["X.npy", "--format", "excel"]),
        (2, ["columns have no names"], ["X.npy", "--label", "kind"]),
        (2, ["npz, csv or tsv"], ["X.npy", "--top", "1", "--out", "m.npy"]),
        (2, ["format of K.txt.mat cannot be inferred"], ["X.npy", "--out", "K.txt.mat"]),
        (2, ["compressed"], ["X.npy", "--out", "K.csv.gz"]),
        (2, ["no directory"], ["X.npy", "--out", "nowhere/K.npy"]),
        (2, ["both", "standard input"], ["-", "-", "--format", "csv"]),
        (2, ["format of -"], ["-"]),
        (1, ["4 columns", "3", "--label"], ["X.npy", "narrow.csv"]),
        (1, ["one row"], ["one.csv", "--top", "1"]),
        (1, ["line 2", "not a number"], ["bad.csv"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, X_npy, monkeypatch, code, words, arguments):
    monkeypatch.chdir(X_npy.parent)
    (X_npy.parent / "narrow.csv").write_text("1,2,3\n")
    (X_npy.parent / "one.csv").write_text("1,2,3\n")
    (X_npy.parent / "bad.csv").write_text("1,2\n3,x\n")
    fails(code, words, "kernel", *arguments)


def test_json_and_output_on_one_stream_are_refused(command, X_npy):
    result = command("kernel", X_npy, "--json", "--out", "-")
    assert result.exit_code == 2
    assert "standard output" in json.loads(result.stderr)["error"]


def test_columns_of_two_files_that_do_not_agree_are_told_by_the_files(fails, succeeds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, header in (("a", "x,y"), ("b", "x,z"), ("c", "x,y,z"), ("d", "x")):
        width = header.count(",") + 1
        Path(f"{name}.csv").write_text("\n".join([header, ",".join("12345"[:width]), ",".join("54321"[:width])]))
    for second, words in (
        ("b.csv", "b.csv does not have the column 'y' of a.csv; it has 'z' instead."),
        ("c.csv", "c.csv has the column 'z', which a.csv does not have. Rename columns, or name those that both"),
        ("d.csv", "d.csv does not have the column 'y' of a.csv."),
    ):
        assert "model" not in fails(1, [words, "--columns"], "kernel", "a.csv", second)
        succeeds("kernel", "a.csv", second, "--columns", "x")
    Path("bare.csv").write_text("1,,3\n4,5,6\n")
    means = ["bare.csv has 3 columns, and a.csv has means of 2"]
    fails(1, means, "kernel", "a.csv", "bare.csv", "--missing", "mean")
