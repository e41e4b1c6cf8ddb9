"""Column order as an attack on every verb that reads a table: answers stay, or the table is refused by name."""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_iris
from typer.main import get_command

import mercer
from mercer.cli.app import app
from tests.command import invoke

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
READERS_ELSEWHERE = {("wire", "ask")}  # asks a running service: tests/cli/test_wire.py


def verbs_that_read_tables():
    """The verbs with the options of ``input_options``, found in the command itself."""

    def walk(command, path):
        for name, each in getattr(command, "commands", {}).items():
            yield from walk(each, (*path, name))
        if any("--missing" in parameter.opts for parameter in command.params):
            yield path

    return sorted(walk(get_command(app), ()))


def write(path, X, y=None, names=NAMES, order=None):
    """A csv with a header; columns of the numbers in another order."""
    order = list(range(len(names))) if order is None else order
    with open(path, "w", newline="") as stream:
        lines = csv.writer(stream)
        lines.writerow([*(names[i] for i in order), *([] if y is None else ["species"])])
        for row, label in zip(X, [None] * len(X) if y is None else y, strict=True):
            lines.writerow([*(f"{row[i]:.3f}" for i in order), *([] if y is None else [label])])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models, an index, and the same 30 rows in several tables."""
    place = tmp_path_factory.mktemp("columns")
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    train, some = np.r_[0:150:2], np.r_[1:150:5]
    write(place / "train.csv", X[train], words[train])
    for name, order in (("plain", [0, 1, 2, 3]), ("reversed", [3, 2, 1, 0]), ("shuffled", [2, 0, 3, 1])):
        write(place / f"{name}.csv", X[some], words[some], order=order)
    write(place / "renamed.csv", X[some], words[some], names=[*NAMES[:3], "width of petals"])
    write(place / "lacking.csv", X[some], words[some], order=[0, 1, 2])
    text = (place / "plain.csv").read_text().splitlines()
    (place / "twice.csv").write_text("\n".join(f"{line},{line.split(',')[1]}" for line in text).replace(
        f"species,{NAMES[1]}", f"species,{NAMES[0]}"))  # fmt: skip
    return place


@pytest.fixture(scope="module")
def made(folder):
    def run(*arguments):
        result = invoke(*arguments)
        assert result.exit_code == 0, result.output

    train = folder / "train.csv"
    run("fit", train, "--label", "species", "--kernel", "chi2", "--out", folder / "m.mercer")
    run("map", "fit", train, "--label", "species", "--out", folder / "map.mercer")
    run("index", "build", train, "--label", "species", "--bytes", 4, "--out", folder / "i.index")
    return folder


# what each verb is asked about a table FILE; what it answers, and from which model it knows the columns
ASKED = {
    ("predict",): ["predict", "m.mercer", "FILE", "--label", "species", "--scores"],
    ("evaluate",): ["evaluate", "m.mercer", "FILE", "--label", "species", "--quiet"],
    ("encode",): ["encode", "m.mercer", "FILE", "--label", "species", "--out", "-", "--dense"],
    ("map", "apply"): ["map", "apply", "map.mercer", "FILE", "--label", "species", "--out", "-"],
    ("map", "report"): ["map", "report", "map.mercer", "FILE", "--label", "species", "--json"],
    ("kernel",): ["kernel", "plain.csv", "FILE", "--label", "species", "--out", "-"],
    ("index", "search"): ["index", "search", "i.index", "FILE", "--label", "species", "--out", "-"],
    ("index", "exact"): ["index", "exact", "i.index", "FILE", "--label", "species", "--out", "-"],
    ("index", "evaluate"): ["index", "evaluate", "i.index", "FILE", "--label", "species", "--json"],
    ("index", "add"): ["index", "add", "i.index", "FILE", "--label", "species", "--quiet"],
}
LEARNING = {
    ("fit",),
    ("map", "fit"),
    ("index", "build"),
    ("wire", "fit"),
    ("wire", "rates"),
}  # any order is a new model


def test_every_verb_that_reads_a_table_is_attacked():
    assert {*ASKED, *LEARNING, *READERS_ELSEWHERE} == set(verbs_that_read_tables())


def answer(command, made, verb, table, monkeypatch):
    monkeypatch.chdir(made)
    result = command(*[table if word == "FILE" else word for word in ASKED[verb]])
    if "--json" in ASKED[verb] and result.exit_code == 0:
        return result, _timeless(json.loads(result.stdout.replace(table, "FILE")))
    return result, result.stdout.replace(table, "FILE")


def _timeless(document):
    """A document without what the clock says."""
    if isinstance(document, list):
        return [_timeless(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {key: _timeless(item) for key, item in document.items() if "second" not in key and "ms_" not in key}


@pytest.mark.parametrize("verb", sorted(set(ASKED) - {("index", "add")}), ids=" ".join)
def test_columns_in_another_order_are_matched_by_name(command, made, monkeypatch, verb):
    result, expected = answer(command, made, verb, "plain.csv", monkeypatch)
    assert result.exit_code == 0, result.output
    for table in ("reversed.csv", "shuffled.csv"):
        result, found = answer(command, made, verb, table, monkeypatch)
        assert result.exit_code == 0, result.output
        assert found == expected


@pytest.mark.parametrize("verb", sorted(ASKED), ids=" ".join)
def test_columns_that_are_missing_renamed_or_twice_are_refused_by_name(command, made, monkeypatch, verb):
    for table, words in [
        ("lacking.csv", ["does not have the column 'petal width'"]),
        ("renamed.csv", ["does not have the column 'petal width'", "'width of petals' instead"]),
        ("twice.csv", ["duplicate column names", "'sepal length'", "--drop"]),
    ]:
        result, _ = answer(command, made, verb, table, monkeypatch)
        assert result.exit_code == 1, result.output
        assert result.stdout == ""
        assert result.stderr.count("\n") == 1
        assert all(word in result.stderr for word in [table, *words]), result.stderr


def test_rows_added_in_another_order_are_kept_in_that_of_the_index(succeeds, made, tmp_path, monkeypatch):
    monkeypatch.chdir(made)
    for table in ("plain", "reversed"):
        succeeds("index", "build", "train.csv", "--label", "species", "--bytes", 4, "--out", tmp_path / table)
        succeeds("index", "add", tmp_path / table, f"{table}.csv", "--label", "species")
    X = np.loadtxt("plain.csv", delimiter=",", skiprows=1, usecols=range(4))
    with mercer.KernelIndex.open(tmp_path / "plain") as left, mercer.KernelIndex.open(tmp_path / "reversed") as right:
        assert left.feature_names_in_.tolist() == NAMES
        frames = pytest.importorskip("pandas").DataFrame(X, columns=NAMES)
        for each, other in zip(left.search(frames, 5), right.search(frames, 5), strict=True):
            np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("verb", sorted(LEARNING - {("wire", "rates")}), ids=" ".join)
def test_what_is_learned_keeps_the_names_of_its_columns(succeeds, fails, folder, tmp_path, verb):
    out = tmp_path / "out"
    further = ["--rates", "32", "--C", "1"] if verb == ("wire", "fit") else []
    succeeds(*verb, folder / "train.csv", "--label", "species", "--out", out, *further)
    model = mercer.KernelIndex.open(out).model_ if verb == ("index", "build") else mercer.load(out)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.other_columns_ == ["species"]
    fails(1, ["duplicate column names", "'sepal length'"], *verb, folder / "twice.csv", "--label", "species",
          "--out", tmp_path / "other", *further)  # fmt: skip


def test_label_and_id_may_stay_in_the_table_and_others_are_refused_until_dropped(succeeds, fails, made, monkeypatch):
    monkeypatch.chdir(made)
    lines = (made / "plain.csv").read_text().splitlines()
    expected = succeeds("predict", "m.mercer", "plain.csv")  # the column of the label is still there
    (made / "more.csv").write_text("\n".join(["place," + lines[0], *("park," + line for line in lines[1:])]))
    fails(1, ["'place'", "--drop place"], "predict", "m.mercer", "more.csv")
    assert succeeds("predict", "m.mercer", "more.csv", "--drop", "place") == expected
    assert succeeds("predict", "m.mercer", "more.csv", "--columns", ",".join(NAMES)) == expected
    named = succeeds("predict", "m.mercer", "more.csv", "--id", "place").splitlines()
    assert named == ["id,label", *(f"park,{label}" for label in expected.splitlines())]


def test_without_names_on_one_side_positions_decide_and_a_note_says_so(command, made, monkeypatch):
    monkeypatch.chdir(made)
    X = np.loadtxt("plain.csv", delimiter=",", skiprows=1, usecols=range(4))
    np.save("plain.npy", X)
    expected = command("predict", "m.mercer", "plain.csv")
    result = command("predict", "m.mercer", "plain.npy")
    assert result.stdout == expected.stdout
    assert "by position" in result.stderr
    assert "by position" not in expected.stderr


def test_a_header_of_numbers_is_known_by_the_names_of_the_model(succeeds, tmp_path):
    X, y = load_iris(return_X_y=True)
    path = write(tmp_path / "t.csv", X, y, names=["0", "1", "2", "3"])
    succeeds("fit", path, "--label", "species", "--out", tmp_path / "m.mercer")
    text = path.read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join(line.rsplit(",", 1)[0] for line in text))
    assert len(succeeds("predict", tmp_path / "m.mercer", tmp_path / "new.csv").splitlines()) == 150
