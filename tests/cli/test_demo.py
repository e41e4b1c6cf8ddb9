"""``mercer demo``: run once for real, then with a contender that costs nothing."""

import io
import json
import sys

import numpy as np
import pytest

from mercer.cli.demo import demo


@pytest.fixture
def cheap(monkeypatch):
    def most_frequent(X, y, C, seed):
        return lambda queries: np.full(len(queries), np.bincount(y).argmax())

    monkeypatch.setattr(demo, "CONTENDERS", {"most frequent": most_frequent})


def is_png(content):
    return content[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_map_does_the_kernel_machines_work_without_its_matrix_and_the_plot_is_there(succeeds, tmp_path):
    out = tmp_path / "demo.png"
    document = succeeds("demo", "--json", "--out", out)
    lines = {line["name"]: line for line in document["results"]}
    assert lines.keys() == demo.CONTENDERS.keys()
    exact, mapped = lines["exact chi2 SVM"], lines["Mercer: chi2 map + linear SVM"]
    assert abs(exact["accuracy"] - mapped["accuracy"]) < 0.01
    assert min(line["accuracy"] for line in lines.values()) > 0.95
    assert exact["peak_bytes"] > 4 * demo._N_TRAIN**2 > mapped["peak_bytes"]  # the matrix of all pairs
    assert all(line["fit_seconds"] > 0 and line["predict_seconds"] > 0 for line in lines.values())
    assert document["plot"] == str(out)
    assert is_png(out.read_bytes())


def test_the_table_is_printed_and_the_plot_named(command, cheap, tmp_path):
    result = command("demo", "--out", tmp_path / "demo.png")
    assert result.exit_code == 0
    assert "most frequent" in result.stdout
    assert "accuracy" in result.stdout
    assert "demo.png" in result.stderr


def test_without_matplotlib_the_table_remains_and_a_note_says_how_to_get_the_plot(
    command, cheap, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = command("demo", "--out", tmp_path / "demo.png")
    assert result.exit_code == 0
    assert "most frequent" in result.stdout
    assert "mercer[plot]" in result.stderr
    assert list(tmp_path.iterdir()) == []
    assert json.loads(command("demo", "--json", "--out", tmp_path / "demo.png").stdout)["plot"] is None


def test_the_plot_goes_to_the_standard_output_alone(command, cheap):
    result = command("demo", "--out", "-")
    assert result.exit_code == 0
    assert is_png(io.BytesIO(result.stdout_bytes).read())
    assert "most frequent" in result.stderr


def test_a_wrong_target_is_refused_before_anything_is_computed(fails, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "measure", pytest.fail)
    fails(2, ["no directory"], "demo", "--out", tmp_path / "nowhere" / "demo.png")
