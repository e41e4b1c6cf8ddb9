"""``mercer wire``, and the other verbs with models that make bits: Python's bits, whole messages, the right rate."""

import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer
from mercer.serving import rate_accuracy
from mercer.serving.wire.messages import unpack_message

DRAWING = {"type": "drawing", "height": 8, "width": 8, "maximum": 16}
QUICK = ("--C", "10", "--folds", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of three digits, a model of two rates, and a classifier and an embedding of one."""
    path = tmp_path_factory.mktemp("wire")
    X, y = load_digits(n_class=3, return_X_y=True)
    X = X.astype(np.float32)
    np.savez(path / "train.npz", X=X[:200], y=y[:200])
    np.savez(path / "test.npz", X=X[200:300], y=y[200:300])
    np.save(path / "X.npy", X[:200])
    np.save(path / "y.npy", y[:200])
    embedding = mercer.UniversalEmbedding(100, delta=70.0, random_state=3)
    ladder = mercer.WireClassifier(embedding, rates=[20, 60], Cs=[10.0], cv=2, input=DRAWING).fit(X[:200], y[:200])
    mercer.save(ladder, path / "ladder.mercer")
    mercer.save(ladder.classifiers_[0], path / "one.mercer")
    mercer.save(ladder.embedding_, path / "embedding.mercer")
    mercer.save(mercer.KernelClassifier("chi2", random_state=0).fit(X[:200], y[:200]), path / "chi2.mercer")
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def X():
    return np.load("test.npz")["X"]


# ---- fit


@pytest.mark.parametrize(
    ("name", "arguments", "embedding", "rates"),
    [
        ("universal:delta=70", ["--rates", "64,24"], mercer.UniversalEmbedding(64, delta=70), [24, 64]),
        ("qjl:bits=2", ["--rates", "24,40"], mercer.QuantizedJL(20, bits=2), [24, 40]),
        ("universal:n_bits=40,delta=70", [], mercer.UniversalEmbedding(40, delta=70), [32, 40]),
        ("universal:block_size=16,delta=20", ["--rates", "16,32"],
         mercer.UniversalEmbedding(8, delta=20, block_size=16), [16, 32]),
    ],
)  # fmt: skip
def test_a_fit_is_that_of_python_and_rates_are_bits(succeeds, X, name, arguments, embedding, rates):
    data = np.load("train.npz")
    fit = ("wire", "fit", "train.npz", "--embedding", name, *arguments, *QUICK, "--seed", "7", "--out", "fitted.mercer")
    document = succeeds(*fit, "--json")
    found = mercer.load("fitted.mercer")
    per_projection = rates[-1] // getattr(embedding, "n_bits", 20)
    same = mercer.WireClassifier(
        embedding.set_params(random_state=7), rates=[bits // per_projection for bits in rates], Cs=[10.0], cv=2
    ).fit(data["X"], data["y"])
    assert found.rates_ == same.rates_ == rates
    assert found.curve_ == same.curve_
    assert [point["bits"] for point in document["curve"]] == rates
    for point, bits in zip(document["curve"], rates, strict=True):
        assert point["embedding"] == same.specification(bits).fingerprint
        assert point["accuracy"] == pytest.approx(found.curve_[rates.index(bits)]["accuracy"])
    np.testing.assert_array_equal(found.decision_function(X), same.decision_function(X))


def test_the_curve_is_printed_and_a_row_described(command, succeeds, folder):
    data = np.load("train.npz")
    fit = ("--embedding", "universal:delta=70", "--rates", "32", *QUICK, "--out", "fitted.mercer")
    result = command("wire", "fit", "train.npz", *fit, "--input", "drawing:8x8:16")
    assert (result.exit_code, "delta 70, 1 classifier, fitted in" in result.stderr) == (0, True)
    model = mercer.load("fitted.mercer")
    assert model.input_ == DRAWING
    assert f"{model.curve_[0]['accuracy']:.4f}" in result.stdout
    lines = [",".join([*(f"p{i}" for i in range(4)), "kind"])]
    lines += [",".join([*map(str, row[18:22]), f"digit {label}"]) for row, label in zip(*data.values(), strict=True)]
    (folder / "named.csv").write_text("\n".join(lines))
    succeeds("wire", "fit", "named.csv", "--label", "kind", *fit)
    model = mercer.load("fitted.mercer")
    assert model.input_ == {"type": "vector", "names": ["p0", "p1", "p2", "p3"]}
    assert model.classes_.tolist() == ["digit 0", "digit 1", "digit 2"]


# ---- specification


def test_the_specification_is_what_a_client_fetches(succeeds, X):
    ladder = mercer.load("ladder.mercer")
    for options, bits in (([], 60), (["--bits", "20"], 20)):
        found = json.loads(succeeds("wire", "specification", "ladder.mercer", *options))
        assert found["fingerprint"] == ladder.specification(bits).fingerprint
        again = mercer.codes.Specification.from_dict(found["specification"])
        assert (again.n_bits, again.fingerprint) == (bits, found["fingerprint"])
    for name, bits in (("one", 20), ("embedding", 100)):
        found = json.loads(succeeds("wire", "specification", f"{name}.mercer"))
        assert found["specification"]["projections"] == bits


# ---- encode


@pytest.mark.parametrize(
    ("model", "options", "bits"),
    [("ladder", [], 60), ("ladder", ["--bits", "20"], 20), ("one", [], 20), ("embedding", ["--bits", "100"], 100)],
)
@pytest.mark.parametrize("working_memory", [1024, 0.02])  # MiB: one block, and a dozen rows at a time
def test_bits_are_those_of_python_as_array_and_as_message(succeeds, X, model, options, bits, working_memory):
    import sklearn

    ladder = mercer.load("ladder.mercer")
    expected = ladder.embedding_.transform(X)
    expected = np.packbits(np.unpackbits(expected, axis=1, bitorder="little")[:, :bits], axis=1, bitorder="little")
    fingerprint = ladder.specification_.shortened(bits).fingerprint
    with sklearn.config_context(working_memory=working_memory):
        succeeds("encode", f"{model}.mercer", "test.npz", *options, "--out", "codes.mrcw")
        document = succeeds("encode", f"{model}.mercer", "test.npz", *options, "--out", "codes.npy", "--json")
    codes = np.load("codes.npy")
    assert codes.dtype == np.uint8
    np.testing.assert_array_equal(codes, expected)
    assert (document["bits"], document["embedding"]) == (bits, fingerprint)
    message = unpack_message(Path("codes.mrcw").read_bytes())
    np.testing.assert_array_equal(message.codes, expected)
    assert (message.n_bits, message.fingerprint8) == (bits, fingerprint[:16])


def test_messages_pass_through_a_pipe_and_maps_are_fitted_and_applied(process, succeeds, X):
    code, out, err = process("encode", "one.mercer", "test.npz", "--out", "-", "--out-format", "mrcw", "--quiet")
    assert (code, err) == (0, "")
    expected = mercer.load("one.mercer").map_.transform(X)
    np.testing.assert_array_equal(unpack_message(out).codes, expected)
    fit = ("map", "fit", "train.npz", "--map", "qjl:n_projections=12,bits=3", "--out", "qjl.mercer")
    document = succeeds(*fit, "--json")
    assert document["bits"] == 36
    embedding = mercer.QuantizedJL(12, bits=3, random_state=0).fit(np.load("train.npz")["X"])
    assert document["embedding"] == embedding.specification_.fingerprint
    succeeds("map", "apply", "qjl.mercer", "test.npz", "--out", "codes.npy")
    np.testing.assert_array_equal(np.load("codes.npy"), embedding.transform(X))


# ---- predict, evaluate, fit and inspect


def test_every_rate_predicts_and_is_evaluated(succeeds, X):
    ladder, truth = mercer.load("ladder.mercer"), np.load("test.npz")["y"]
    for options, bits in (([], 60), (["--bits", "20"], 20)):
        scores = ladder.decision_codes(ladder.classifiers_[ladder.rates_.index(bits)].map_.transform(X), bits)
        labels = ladder.classes_[scores.argmax(axis=1)]
        found = succeeds("predict", "ladder.mercer", "test.npz", *options, "--json")
        assert (found["labels"], found["bits"]) == (labels.tolist(), bits)
        text = succeeds("predict", "ladder.mercer", "test.npz", *options, "--scores", "--out", "-", "--quiet")
        np.testing.assert_allclose(np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1), scores, rtol=1e-9)
        found = succeeds("evaluate", "ladder.mercer", "test.npz", *options, "--json")
        assert found["accuracy"] == pytest.approx((labels == truth).mean())
        assert found["bits"] == bits
        assert f"at {bits} bits" in succeeds("evaluate", "ladder.mercer", "test.npz", *options)


def test_fit_learns_on_bits(succeeds, X):
    succeeds("fit", "train.npz", "--map", "universal:n_bits=48,delta=70", "--out", "bits.mercer", "--quiet")
    data = np.load("train.npz")
    embedding = mercer.UniversalEmbedding(48, delta=70, random_state=0)
    same = mercer.KernelClassifier(map=embedding, random_state=0).fit(data["X"], data["y"])
    np.testing.assert_array_equal(mercer.load("bits.mercer").predict(X), same.predict(X))


def test_inspect_tells_the_embedding_and_the_curve(succeeds):
    ladder = mercer.load("ladder.mercer")
    for name, bits in (("ladder", 100), ("one", 20), ("embedding", 100)):
        found = succeeds("inspect", f"{name}.mercer", "--json")
        fingerprint = ladder.specification_.shortened(bits).fingerprint
        expected = {"kind": "universal", "bits": bits, "bytes": -(-bits // 8), "fingerprint": fingerprint}
        assert found["embedding"] == expected
        text = succeeds("inspect", f"{name}.mercer")
        assert fingerprint in text
        assert "specification_json_" not in text
    found = succeeds("inspect", "ladder.mercer", "--json")
    assert found["curve"] == ladder.curve_
    assert f"{ladder.curve_[1]['accuracy']:.4f}" in succeeds("inspect", "ladder.mercer")
    assert "embedding" not in succeeds("inspect", "chi2.mercer", "--json")


# ---- a service


def test_a_service_takes_the_message_and_labels_its_neighbours(succeeds, fails, X):
    pytest.importorskip("fastapi")
    from tests.serving.running import Running

    succeeds("index", "build", "train.npz", "--effort", "low", "--bytes", "8", "--out", "train.index", "--quiet")
    succeeds("index", "remove", "train.index", "3")
    succeeds("encode", "ladder.mercer", "test.npz", "--bits", "20", "--out", "codes.mrcw")
    body, y = Path("codes.mrcw").read_bytes(), np.load("y.npy")
    for labels in ("y.npy", "train.npz"):
        with Running("ladder.mercer", "train.index", index_labels=labels) as running:
            assert running.post("/v1/classify", body).json["labels"] == succeeds(
                "predict", "ladder.mercer", "test.npz", "--bits", "20", "--json"
            )["labels"]  # fmt: skip
            near = running.post("/v1/neighbors?k=3", body).json
            asked = ("wire", "ask", running.url, "test.npz", "--bits", "20")
            found = succeeds(*asked, "--neighbours", "3", "--json")
            assert all(found[name] == near[name] for name in ("ids", "similarity", "labels"))
            assert succeeds(*asked, "--neighbours", "3").splitlines()[0] == ",".join(map(str, near["ids"][0]))
            assert [int(line) for line in succeeds(*asked).splitlines()] == succeeds(*asked, "--json")["labels"]
            assert succeeds(*asked, "--json")["labels"] == running.post("/v1/classify", body).json["labels"]
            fails(1, ["404", "20, 60"], *asked[:4], "--bits", "9")
        assert near["labels"] == y[np.array(near["ids"])].tolist()
    fails(1, ["Is there a service at"], *asked)


def test_a_table_is_asked_about_as_predict_is(succeeds, fails, tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    from tests.serving.running import Running

    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0).random((40, 2)).round(3).tolist()
    rows = [(f"r{i}", a, b, "wide" if a > b else "tall") for i, (a, b) in enumerate(numbers)]
    for name, order in (("train", [0, 1, 2, 3]), ("mixed", [3, 2, 0, 1])):
        lines = [("name", "width", "height", "kind"), *rows]
        Path(f"{name}.csv").write_text("\n".join(",".join(str(row[i]) for i in order) for row in lines))
    Path("more.csv").write_text("\n".join(f"{line},{i or 'size'}" for i, line in enumerate(
        Path("mixed.csv").read_text().splitlines())))  # fmt: skip
    fit = ("--label", "kind", "--id", "name", "--rates", "16", "--C", "1", "--folds", "2", "--out", "m.mercer", "-q")
    succeeds("wire", "fit", "train.csv", *fit)
    with Running("m.mercer") as running:
        asked, told = ("wire", "ask", running.url), ("predict", "m.mercer")
        for table in ("train.csv", "mixed.csv"):
            assert succeeds(*asked, table) == succeeds(*told, table)
        for start in (asked, told):
            fails(1, ["more.csv has the column 'size' that the model was not fitted on", "--drop"], *start, "more.csv")
        assert succeeds(*asked, "more.csv", "--drop", "size") == succeeds(*told, "mixed.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("id,label\n900,1\n", "labels no row of the index"),
        (np.arange(199), "199 labels in row order"),  # the index has row 199
        (np.zeros((200, 2)), "one dimension"),
        (b"nothing", "no readable labels"),
    ],
)
def test_labels_that_do_not_belong_to_an_index_are_refused(tmp_path, content, words):
    pytest.importorskip("fastapi")
    from mercer.serving.model.neighbors import open_neighbors
    from mercer.serving.model.served import ServedModel

    path = tmp_path / ("labels.csv" if isinstance(content, str) else "labels.npy")
    if isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    X = np.load("train.npz")["X"]
    index = mercer.KernelIndex("chi2", effort="low", bytes_per_item=8, random_state=0).fit(X).add(X)
    with pytest.raises(mercer.InputError, match=words):
        open_neighbors(index, ServedModel(mercer.load("ladder.mercer")), str(path))


# ---- what goes wrong


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["--rates must be integers", "64,x"], ["wire", "fit", "train.npz", "--rates", "64,x"]),
        (2, ["--rates must be integers", "'0'"], ["wire", "fit", "train.npz", "--rates", "0"]),
        (2, ["'fourier'", "universal, qjl"], ["wire", "fit", "train.npz", "--embedding", "fourier"]),
        (2, ["'jql'", "Did you mean 'qjl'"], ["wire", "fit", "train.npz", "--embedding", "jql"]),
        (2, ["embedding qjl", "'n_bits'"], ["wire", "fit", "train.npz", "--embedding", "qjl:n_bits=8"]),
        (2, ["3 bits", "64", "63 or 66"], ["wire", "fit", "train.npz", "--embedding", "qjl:bits=3", "--rates", "64"]),
        (
            1,
            ["`bits` must be an integer >= 1 and <= 8; got 9"],
            ["wire", "fit", "train.npz", "--embedding", "qjl:bits=9", "--rates", "64"],
        ),
        (1, ["blocks of 7"], ["wire", "fit", "train.npz", "--embedding", "compact:block_size=7", "--rates", "64"]),
        (2, ["8 bits", "9", "n_bits"], ["wire", "fit", "train.npz", "--embedding", "compact:n_bits=8", "--rates", "9"]),
        (1, ["delta"], ["wire", "fit", "train.npz", "--embedding", "universal:delta=none", "--rates", "8"]),
        (2, ["drawing:8x8:16", "picture"], ["wire", "fit", "train.npz", "--input", "picture"]),
        (2, ["64 columns", "8 x 9", "72"], ["wire", "fit", "train.npz", "--input", "drawing:8x9"]),
        (2, ["greater than 0"], ["wire", "fit", "train.npz", "--input", "drawing:8x8:0"]),
        (2, ["--C", "-1"], ["wire", "fit", "train.npz", "--C", "-1"]),
        (2, ["fractions"], ["wire", "fit", "train.npz", "--labels", "fractions.npy"]),
        (2, ["no labels", "--labels"], ["wire", "fit", "X.npy"]),
        (2, ["no file none.mercer"], ["wire", "specification", "none.mercer"]),
        (2, ["chi2.mercer", "does not produce bits"], ["wire", "specification", "chi2.mercer"]),
        (2, ["http://", "localhost"], ["wire", "ask", "localhost", "test.npz"]),
        (2, ["no file none"], ["wire", "ask", "http://localhost", "test.npz", "--token-file", "none"]),
        (2, ["20, 60 bits", "not 32"], ["wire", "specification", "ladder.mercer", "--bits", "32"]),
        (2, ["20, 60 bits", "not 32"], ["predict", "ladder.mercer", "test.npz", "--bits", "32"]),
        (2, ["KernelClassifier", "produce bits", "--bits"], ["evaluate", "chi2.mercer", "test.npz", "--bits", "32"]),
        (2, ["chi2.mercer", "does not produce bits", "npy"], ["encode", "chi2.mercer", "test.npz"]),
        (2, ["UniversalEmbedding", "decoded"], ["encode", "ladder.mercer", "test.npz", "--decode"]),
        (2, ["mercer encode"], ["map", "apply", "embedding.mercer", "test.npz"]),
        (2, ["map universal", "no kernel"], ["map", "fit", "train.npz", "--map", "universal", "--kernel", "rbf"]),
    ],
)  # fmt: skip
def test_each_mistake_has_its_sentence_and_code(fails, code, words, arguments):
    np.save("fractions.npy", np.linspace(0, 1, 200))
    has_out = arguments[1] not in ("specification", "ask") and arguments[0] not in ("predict", "evaluate")
    fails(code, words, *arguments, *(["--out", "out.mrcw"] if has_out else []))


# ---- rates


def test_rates_are_those_of_python(succeeds, fails, tmp_path):
    options = ("--codes", "unquantised,compact", "--bits", "8,16", "--C", "1", "--splits", "2")
    picture = tmp_path / "rates.png"
    document = succeeds("wire", "rates", "train.npz", *options, "--plot", picture, "--json")
    data = np.load("train.npz")
    expected = rate_accuracy(
        data["X"], data["y"], [8, 16], codes=["unquantised", "compact"], Cs=[1.0], n_splits=2, random_state=0
    )
    assert [point["accuracy"] for point in document["points"]] == [point.accuracy for point in expected.points]
    assert [point["bytes"] for point in document["points"]] == [None, 1, 2]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "compact" in succeeds("wire", "rates", "train.npz", *options)
    fails(2, ["has the codes", "'magic'"], "wire", "rates", "train.npz", "--codes", "magic")
    fails(2, ["--bits must be integers", "8;9"], "wire", "rates", "train.npz", "--bits", "8;9")
    fails(2, ["divide the 64 columns"], "wire", "rates", "train.npz", "--block-size", "7")


def test_distances_are_those_of_python(succeeds, fails):
    X = np.load("X.npy")
    succeeds("encode", "ladder.mercer", "X.npy", "--bits", "60", "--out", "all.mrcw")
    np.save("few.npy", X[:3])
    succeeds("encode", "ladder.mercer", "few.npy", "--bits", "60", "--out", "few.mrcw")
    found = succeeds("wire", "distances", "ladder.mercer", "few.mrcw", "all.mrcw", "--json")
    embedding = mercer.load("ladder.mercer").classifiers_[1].map_
    expected = embedding.distance_from_codes(embedding.transform(X[:3]), embedding.transform(X))
    for name, values in zip(("distance", "low", "high"), expected, strict=True):
        np.testing.assert_allclose(np.array(found[name], dtype=float), values)
    lines = succeeds("wire", "distances", "ladder.mercer", "few.mrcw").splitlines()
    assert lines[0] == "row,other,distance,low,high"
    assert len(lines) == 10
    inspected = succeeds("inspect", "few.mrcw", "--json")
    assert (inspected["rows"], inspected["bits"]) == (3, 60)
    Path("cut.mrcw").write_bytes(Path("few.mrcw").read_bytes()[:-1])
    fails(1, ["cut.mrcw", "51 bytes came"], "inspect", "cut.mrcw")
    fails(1, ["not a valid bit message"], "wire", "distances", "ladder.mercer", "X.npy")
    fails(2, ["bits do not estimate distances"], "wire", "distances", "chi2.mercer", "few.mrcw")
    succeeds("encode", "one.mercer", "few.npy", "--out", "other.mrcw")
    fails(1, ["bits of a different embedding"], "wire", "distances", "embedding.mercer", "other.mrcw")
