"""Missing values: refused by file, line and column, filled, or left out, and said."""

import numpy as np
import pytest

import mercer
from mercer import open_rows

TRAIN = [(i % 7 + 1, (3 * i) % 5 + 1, "odd" if i % 2 else "even") for i in range(40)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"r{i},{a},{b},{kind}" for i, (a, b, kind) in enumerate(TRAIN)]
    (tmp_path / "whole.csv").write_text("\n".join(["name,a,b,kind", *lines]) + "\n")
    lines[3], lines[5] = "r3,,5,odd", "r5,6,NA,odd"
    (tmp_path / "gaps.csv").write_text("\n".join(["name,a,b,kind", *lines]) + "\n")
    lines[3], lines[5] = "r3,4,5,", "r5,6,1,odd"
    (tmp_path / "unlabelled.csv").write_text("\n".join(["name,a,b,kind", *lines]) + "\n")
    (tmp_path / "new.csv").write_text("name,b,a\nn1,1,2\nn2,,3\nn3,4,null\nn4,2,5\n")
    return tmp_path


FIT = ["--label", "kind", "--id", "name", "--out", "m.mercer"]


def test_a_missing_value_is_named_by_file_line_and_column_with_the_remedies(fails, folder):
    fails(
        1, ["gaps.csv, line 5, column 0 ('a')", "missing value", "fill:0", "mean", "drop-rows"], "fit", "gaps.csv", *FIT
    )
    said = fails(2, ["fill:VALUE", "'fill:x'"], "fit", "gaps.csv", *FIT, "--missing", "fill:x")
    assert "Did you mean" not in said


@pytest.mark.parametrize(("word", "meant"), [("drop-row", "drop-rows"), ("means", "mean"), ("fil:0", "fill:0")])
def test_a_word_that_is_nearly_a_rule_is_answered_by_the_rule(fails, folder, word, meant):
    fails(2, [f"got {word!r}. Did you mean {meant!r}?"], "fit", "gaps.csv", *FIT, "--missing", word)


def test_an_empty_label_is_no_class(fails, succeeds, folder):
    fails(1, ["unlabelled.csv, line 5", "no label", "drop-rows"], "fit", "unlabelled.csv", *FIT)
    found = succeeds("fit", "unlabelled.csv", *FIT, "--missing", "drop-rows", "--json")
    assert found["rows"] == 39
    assert found["classes"] == ["even", "odd"]
    assert len(succeeds("predict", "m.mercer", "unlabelled.csv").splitlines()) == 40  # labels are not needed


def test_rows_left_out_are_counted_by_reason(command, folder):
    lines = (folder / "gaps.csv").read_text().splitlines()
    lines[10] = lines[10].rsplit(",", 1)[0] + ","
    (folder / "both.csv").write_text("\n".join(lines) + "\n")
    for file, said in (
        ("gaps.csv", "2 rows dropped: 2 missing values in columns 'a', 'b'."),
        ("unlabelled.csv", "1 row dropped: 1 without a label."),
        ("both.csv", "3 rows dropped: 2 missing values in columns 'a', 'b', 1 without a label."),
    ):
        result = command("fit", file, *FIT, "--missing", "drop-rows")
        assert f"{file}: {said}" in " ".join(result.stderr.split())


def test_means_of_the_training_rows_stay_in_the_model(command, succeeds, fails, folder):
    result = command("fit", "gaps.csv", *FIT, "--missing", "mean")
    assert "2 missing values in columns 'a', 'b', filled with the means" in " ".join(result.stderr.split())
    said = command("kernel", "gaps.csv", "--columns", "a,b", "--kernel", "linear", "--missing", "mean").stderr
    assert "filled with the means of the columns" in " ".join(said.split())
    said = command("evaluate", "m.mercer", "gaps.csv", *FIT[:4]).stderr
    assert "filled with the means of the training rows" in " ".join(said.split())
    model = mercer.load("m.mercer")
    kept = np.array([[a, b] for i, (a, b, _) in enumerate(TRAIN)], dtype=float)
    means = [np.delete(kept[:, 0], 3).mean(), np.delete(kept[:, 1], 5).mean()]
    np.testing.assert_allclose(model.feature_means_, means)
    X = open_rows("new.csv", like=model, id="name")
    (rows, _), *_ = X.blocks()
    np.testing.assert_allclose(rows, [[2, 1], [3, means[1]], [means[0], 4], [5, 2]], rtol=1e-6)
    expected = model.predict(np.array(rows)).tolist()
    assert succeeds("predict", "m.mercer", "new.csv").splitlines() == expected
    fails(1, ["new.csv, line 3", "missing value"], "predict", "m.mercer", "new.csv", "--missing", "error")
    succeeds("fit", "whole.csv", *FIT)
    fails(2, ["not fitted with --missing mean"], "predict", "m.mercer", "new.csv", "--missing", "mean")


def test_a_dropped_row_has_an_empty_answer_of_its_own(succeeds, fails, command, folder):
    succeeds("fit", "whole.csv", *FIT)
    lines = succeeds("predict", "m.mercer", "new.csv", "--missing", "drop-rows", "--id", "name").splitlines()
    assert lines[0] == "id,label"
    assert [line.split(",")[0] for line in lines[1:]] == ["n1", "n2", "n3", "n4"]
    assert [bool(line.split(",")[1]) for line in lines[1:]] == [True, False, False, True]
    document = succeeds("predict", "m.mercer", "new.csv", "--missing", "drop-rows", "--json")
    assert [label is None for label in document["labels"]] == [False, True, True, False]
    assert document["missing"] == {"policy": "drop-rows", "cells": 2, "rows": 2, "columns": {"a": 1, "b": 1}}
    succeeds("predict", "m.mercer", "new.csv", "--missing", "drop-rows", "--scores", "--out", "s.npy")
    assert np.isnan(np.load("s.npy")).tolist() == [False, True, True, False]
    fails(
        2, ["no empty label"], "predict", "m.mercer", "new.csv", "--missing", "drop-rows", "--out", "l.npy", "--quiet"
    )
    succeeds("index", "build", "whole.csv", "--id", "name", "--drop", "kind", "--bytes", "2", "--out", "i")
    found = succeeds("index", "search", "i", "new.csv", "--id", "name", "--missing", "drop-rows", "-k", 2, "--json")
    assert [each["query_id"] for each in found["matches"]] == ["n1", "n2", "n3", "n4"]
    assert [len(each["ids"]) for each in found["matches"]] == [2, 0, 0, 2]


def test_values_are_filled_in_arrays_too(succeeds, folder):
    X = np.array([[1.0, 2.0], [np.nan, 4.0], [5.0, 6.0]])
    np.save("X.npy", X)
    succeeds("kernel", "X.npy", "--missing", "fill:3", "--out", "K.npy", "--kernel", "linear")
    filled = np.where(np.isnan(X), 3, X)
    np.testing.assert_allclose(np.load("K.npy"), filled @ filled.T)
    document = succeeds("kernel", "X.npy", "--missing", "drop-rows", "--top", 1, "--kernel", "linear", "--json")
    assert [match["row"] for match in document["matches"]] == [0, 2]  # numbers of the file
    assert [match["indices"] for match in document["matches"]] == [[2], [0]]


def test_a_wide_csv_is_read(tmp_path):
    n = 40_000
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"column_{i}" for i in range(n)) + "\n" + ",".join(["0.5"] * n) + "\n")
    rows = open_rows(path)
    assert rows.shape == (1, n)
    path.write_text(",".join(f'"column_{i}"' for i in range(n)) + "\n" + ",".join(["0.5"] * n) + "\n")
    assert open_rows(path).feature_names[-1] == "column_39999"


def test_misspelled_names_and_directories_get_a_suggestion(fails, folder):
    for word in ("chi-squared", "ch2"):
        fails(2, [f"no kernel {word!r}", "Did you mean 'chi2'?"], "fit", "whole.csv", *FIT, "--kernel", word)
    fails(2, ["Did you mean 'homogeneous'?"], "fit", "whole.csv", *FIT, "--map", "homogenous")
    (folder / "d").mkdir()
    labelled_by = ["--drop", "name", "--drop", "kind", "--labels", "d", "--out", "m"]
    for words in (
        ["fit", "d", *FIT, "--format", "csv"],
        ["fit", "d", *FIT],
        ["kernel", "d"],
        ["fit", "whole.csv", *labelled_by],
        ["predict", "d", "new.csv"],
        ["inspect", "d"],
    ):
        fails(2, ["d is a directory"], *words)


def test_control_characters_are_escaped_on_a_terminal_only(monkeypatch, capsysbinary):
    import sys

    from mercer._base.tables import open_for_writing

    def written(is_terminal):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
        with open_for_writing("-") as stream:
            stream.write(b"a\x1b[2Jb\n")
        return capsysbinary.readouterr().out

    assert written(False) == b"a\x1b[2Jb\n"
    assert written(True) == b"a\\x1b[2Jb\n"


def test_a_model_file_whose_names_do_not_fit_its_columns_is_refused(succeeds, folder):
    succeeds("fit", "whole.csv", *FIT)
    model = mercer.load("m.mercer")
    for name, value in [
        ("feature_names_in_", np.array(["a"], dtype=object)),
        ("feature_names_in_", np.array(["a", "a"], dtype=object)),
        ("feature_means_", np.array([1.0, np.nan])),
        ("other_columns_", [1]),
    ]:
        before = getattr(model, name, None)
        setattr(model, name, value)
        mercer.save(model, "forged.mercer")
        with pytest.raises(mercer.ModelFileError, match=name):
            mercer.load("forged.mercer")
        setattr(model, name, before) if before is not None else delattr(model, name)
    assert model.other_columns_ == ["name", "kind"]
