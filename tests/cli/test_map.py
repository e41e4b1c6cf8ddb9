"""``mercer map``: the library's numbers, and how maps, rows and features get in and out."""

import io
import json

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import HomogeneousMap, NystroemMap, ProjectedMap, WeightedMinHash
from mercer.kernels import RBF
from mercer.maps import MAPS


@pytest.fixture
def X_npy(tmp_path, histograms):
    np.save(tmp_path / "X.npy", histograms)
    return tmp_path / "X.npy"


@pytest.fixture
def fitted(succeeds, X_npy):
    """The file of a map fitted by the command."""

    def fit(*arguments, x=X_npy):
        out = X_npy.with_name("m.mercer")
        succeeds("map", "fit", x, *arguments, "--out", out)
        return out

    return fit


def test_the_bare_command_and_every_part_have_help_with_examples(succeeds):
    assert succeeds("map").strip() == succeeds("map", "--help").strip()
    for part in ("fit", "apply", "report"):
        text = succeeds("map", part, "--help")
        assert "--threads" in text
        assert f"mercer map {part}" in text.split("Examples")[1]
    words = {word.strip(",.│") for word in succeeds("map", "fit", "--help").split()}
    assert set(MAPS) - {"projected"} | {"pq", "universal", "qjl", "compact", "sign", "klsh", "rmmh"} <= words


# ---- fit


def test_a_map_is_fitted_and_saved_with_its_parameters(succeeds, X_npy, histograms):
    out = X_npy.with_name("m.mercer")
    arguments = ("--map", "homogeneous", "--kernel", "js", "--param", "order=2", "-p", "window=uniform")
    document = succeeds("map", "fit", X_npy, *arguments, "--out", out, "--json")
    model = mercer.load(out)
    same = HomogeneousMap(mercer.JensenShannon(), order=2, window="uniform")
    assert model.get_params() == same.get_params()
    assert document["features"] == model.inner_.n_features == 20
    assert document["kernel"] == "jensen-shannon"
    assert (document["rows"], document["columns"]) == (6, 4)
    np.testing.assert_array_equal(model.transform(histograms), same.fit_transform(histograms))


def test_kernels_take_parameters_and_the_seed_reaches_every_map(fitted):
    model = mercer.load(
        fitted("-m", "nystroem:n_landmarks=4", "-k", "rbf", "-p", "kernel__gamma=0.5", "--project", "16", "--seed", "9")
    )
    assert isinstance(model, ProjectedMap)
    assert (model.n_components, model.random_state) == (16, 9)
    assert isinstance(model.map_, NystroemMap)
    assert (model.map_.kernel, model.map_.random_state, model.map_.n_landmarks) == (RBF(0.5), 9, 4)
    same_kernel = mercer.load(fitted("-m", "minhash", "-k", "tanimoto", "-p", "n_hashes=32", "-p", "bits=4"))
    assert isinstance(same_kernel, WeightedMinHash)
    assert same_kernel.get_params() == WeightedMinHash(32, bits=4, random_state=0).get_params()


def test_the_map_whose_signs_are_taken_is_said_by_name_or_is_centered_components(fitted, fails, X_npy):
    bare = mercer.load(fitted("-m", "sign:n_bits=5"))
    assert (bare.map, bare.n_bits, bare.random_state) == (None, 5, 0)
    components = mercer.load(
        fitted("-m", "sign:n_bits=5,orthogonal=false,map__n_landmarks=4", "-k", "rbf", "-p", "kernel__gamma=2")
    )
    same = mercer.KernelPCA(RBF(2), n_components=5, n_landmarks=4, center=True, random_state=0)
    assert components.map.get_params() == same.get_params()
    assert components.orthogonal is False
    named = mercer.load(fitted("-m", "sign:map=homogeneous,map__order=2", "-k", "js"))
    assert named.map.get_params() == HomogeneousMap(mercer.JensenShannon(), order=2).get_params()
    out = ("--out", X_npy.with_name("m.mercer"))
    fails(2, ["no map 'kernelpca'"], "map", "fit", X_npy, "-m", "sign:map=kernelpca", *out)
    fails(2, ["map kpca has no parameter 'bits'"], "map", "fit", X_npy, "-m", "sign:map=kpca,map__bits=3", *out)


def test_common_options_hold_before_and_after_the_verb(succeeds, X_npy):
    fit = ("map", "fit", X_npy, "--out", X_npy.with_name("m.mercer"), "--map", "minhash")
    for arguments in (("--seed", "5", "--json", *fit), (*fit, "--seed", "5", "--json")):
        assert succeeds(*arguments)["parameters"]["random_state"] == 5


# ---- apply


@pytest.mark.parametrize("suffix", ["npy", "npz", "csv"])
@pytest.mark.parametrize("working_memory", [1024, 1e-4])  # MiB: one block, and a block per few rows
def test_features_are_written_whole_however_they_are_cut(succeeds, fitted, X_npy, histograms, suffix, working_memory):
    import sklearn

    model, out = fitted("--kernel", "chi2"), X_npy.with_name(f"F.{suffix}")
    with sklearn.config_context(working_memory=working_memory):
        assert succeeds("map", "apply", model, X_npy, "--out", out, "--quiet") == ""
    F = np.load(out)["X"] if suffix == "npz" else np.load(out) if suffix == "npy" else np.loadtxt(out, delimiter=",")
    np.testing.assert_array_equal(F.astype(np.float32), mercer.load(model).transform(histograms))


def test_sparse_features_stay_sparse_unless_asked(succeeds, fails, fitted, X_npy, histograms):
    sp.save_npz(X_npy.with_name("S.npz"), sp.csr_matrix(histograms))
    model, source = fitted("--kernel", "chi2"), X_npy.with_name("S.npz")
    out = X_npy.with_name("F.npz")
    document = succeeds("map", "apply", model, source, "--out", out, "--json")
    assert document["sparse"] is True
    expected = mercer.load(model).transform(histograms)
    np.testing.assert_allclose(sp.load_npz(out).toarray(), expected, rtol=1e-6, atol=1e-7)
    fails(2, ["sparse", "npz", "--dense"], "map", "apply", model, source, "--out", X_npy.with_name("F.npy"))
    succeeds("map", "apply", model, source, "--out", X_npy.with_name("F.npy"), "--dense")
    np.testing.assert_allclose(np.load(X_npy.with_name("F.npy")), expected, rtol=1e-6, atol=1e-7)


def test_features_pass_through_a_pipe(process, fitted, X_npy, histograms):
    model = fitted("--kernel", "chi2")
    text = "\n".join(",".join(map(str, row)) for row in histograms).encode()
    code, out, err = process("map", "apply", model, "-", "--format", "csv", "--out", "-", "--quiet", input=text)
    assert (code, err) == (0, "")
    expected = mercer.load(model).transform(histograms)
    np.testing.assert_array_equal(np.loadtxt(io.BytesIO(out), delimiter=",", dtype=np.float32), expected)


def test_svmlight_rows_take_the_width_of_the_map(succeeds, fitted, X_npy):
    model = fitted("--kernel", "chi2")
    X_npy.with_name("narrow.svm").write_text("1 1:3 2:1\n0 1:2\n")
    succeeds("map", "apply", model, X_npy.with_name("narrow.svm"), "--out", X_npy.with_name("F.npz"))
    assert sp.load_npz(X_npy.with_name("F.npz")).shape == (2, 12)


# ---- report


def test_files_and_names_stand_side_by_side(succeeds, fitted, X_npy, histograms, tmp_path):
    pytest.importorskip("matplotlib")
    model = fitted("--kernel", "chi2")
    named = ("--map", "homogeneous:order=3", "--map", "nystroem:n_landmarks=5,landmarks=uniform", "--kernel", "chi2")
    plot = tmp_path / "report.png"
    document = succeeds("map", "report", model, X_npy, *named, "--top", "2", "--plot", plot, "--json")
    assert set(document["maps"]) == {"m", "homogeneous:order=3", "nystroem:n_landmarks=5,landmarks=uniform"}
    assert plot.read_bytes().startswith(b"\x89PNG")
    exact = mercer.Chi2()(histograms.astype(np.float64))
    error = np.linalg.norm(mercer.load(model).approximate_kernel(histograms) - exact) / np.linalg.norm(exact)
    assert document["maps"]["m"]["relative_error"] == pytest.approx(error, rel=1e-5)
    assert (document["n_rows"], document["k"]) == (6, 2)
    table = succeeds("map", "report", model, X_npy, *named, "--top", "2")
    assert "recall@2" in table
    assert f"{error:.4f}" in table


# ---- what goes wrong


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["'homogenous'", "Did you mean 'homogeneous'?"], ["fit", "X.npy", "--map", "homogenous", "--out", "m"]),
        (2, ["'projected'"], ["fit", "X.npy", "--map", "projected", "--out", "m"]),
        (2, ["no parameter 'orders'", "order"], ["fit", "X.npy", "--param", "orders=2", "--out", "m"]),
        (2, ["NAME=VALUE", "'order'"], ["fit", "X.npy", "--param", "order", "--out", "m"]),
        (2, ["chi3"], ["fit", "X.npy", "--kernel", "chi3", "--out", "m"]),
        (2, ["minhash", "min-max", "chi2"], ["fit", "X.npy", "-m", "minhash", "-k", "chi2", "--out", "m"]),
        (2, ["no directory"], ["fit", "X.npy", "--out", "nowhere/m.mercer"]),
        (2, ["--out"], ["fit", "X.npy"]),
        (1, ["missing.csv", "line 2", "missing value"], ["fit", "missing.csv", "--out", "m"]),
        (2, ["no file nowhere.mercer"], ["apply", "nowhere.mercer", "X.npy", "--out", "F.npy"]),
        (2, ["Chi2", "not a fitted map"], ["apply", "kernel.mercer", "X.npy", "--out", "F.npy"]),
        (1, ["X.npy", "not a model file"], ["apply", "X.npy", "X.npy", "--out", "F.npy"]),
        (1, ["3 columns", "takes 4", "--label"], ["apply", "m.mercer", "narrow.csv", "--out", "F.npy"]),
        (2, ["format of F.mat cannot be inferred"], ["apply", "m.mercer", "X.npy", "--out", "F.mat"]),
        (2, ["no map to report on"], ["report", "X.npy"]),
        (2, ["no directory"], ["report", "m.mercer", "X.npy", "--plot", "nowhere/r.png"]),
        (1, ["two rows"], ["report", "m.mercer", "one.csv"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, fitted, X_npy, monkeypatch, code, words, arguments):
    fitted("--kernel", "chi2")
    monkeypatch.chdir(X_npy.parent)
    mercer.save(mercer.Chi2(), "kernel.mercer")
    X_npy.with_name("narrow.csv").write_text("1,2,3\n")
    X_npy.with_name("one.csv").write_text("1,2,3,4\n")
    X_npy.with_name("missing.csv").write_text("1,2\n3,nan\n")
    fails(code, words, "map", *arguments)


def test_json_and_features_on_one_stream_are_refused(command, fitted, X_npy):
    result = command("map", "apply", fitted("--kernel", "chi2"), X_npy, "--json", "--out", "-")
    assert result.exit_code == 2
    assert "standard output" in json.loads(result.stderr)["error"]
