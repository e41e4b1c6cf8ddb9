"""``mercer demo``: its sentences follow from its numbers, its page needs nothing else, its parts do what they say."""

import base64
import json
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

from mercer._base.errors import MissingExtraError
from mercer._base.html.pieces import pixels_uri
from mercer.cli.demo import claims, classify, compress, demo, next_steps, photographs, search
from mercer.cli.demo.act import Act, Line
from mercer.cli.demo.classify import DIGITS, OURS, WORDS, Task, run
from mercer.cli.demo.made_up import made_up_histograms, made_up_spectra
from mercer.cli.demo.page import page
from mercer.cli.demo.source_code import LIBRARIES, OF_A_LIBRARY, source_pieces


def line(method, right, n=1000, seconds=1.0, data="rows", **more):
    return Line(data, method, np.arange(n) < right, seconds, **more)


def acts():
    lines = [
        line("A <b>&", 900, ours=True),
        line("B", 700),
        line("C", 1000, data="other"),
        line("D", 1000, 1000, 0.1, "other"),
    ]
    pixels = pixels_uri(np.zeros((2, 3), np.uint8))
    shown = [(pixels, "query"), (pixels, "B: wrong")]
    cells = lambda one: [one.data, one.method, f"{one.share:.3f}"]  # noqa: E731
    return [Act("T <i>", "about & more", ("data", "method", "right"), lines, ("90 %", "right <u>"), ["A > B"],
                [("<caption>", shown)], cells, "x < y"), next_steps.next_steps()]  # fmt: skip


@pytest.fixture
def cheap(monkeypatch):
    monkeypatch.setattr(demo, "ACTS", (lambda seed: acts()[0],))


# ------------------------------------------------------------------------------------------------------------ sentences


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (950, "beats theirs by 5.0 points"),
        (850, "trails theirs by 5.0 points"),
        (901, "is within noise of theirs"),
        (900, "is within noise of theirs"),
    ],
)
def test_a_sentence_says_what_its_numbers_say(right, words):
    ours, theirs = line("ours", right), line("theirs", 900)
    assert claims.compared(ours, theirs).startswith(f"ours {words} ({right / 10:.1f} % vs 90.0 %")


def test_the_error_of_a_difference_is_that_of_paired_answers():
    ours, theirs = line("ours", 500), Line("rows", "theirs", np.arange(1000) >= 500, 1.0)
    found = claims.difference(ours, theirs)  # half of the questions each, never the same: differences are +1 or -1
    assert found.points == 0
    assert found.error == pytest.approx(100 / np.sqrt(1000))


def test_the_best_of_equals_is_the_quickest():
    lines = [line("slow", 900), line("quick", 900, seconds=0.1), line("worse", 800)]
    assert claims.best(lines).method == "quick"


# ----------------------------------------------------------------------------------------------------------------- page


class Seen(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self):
        super().__init__()
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_the_page_fetches_nothing_and_escapes_everything():
    document = page(acts(), 12.0, 0).decode()
    assert not re.search(r"https?:|//\w|url\(|@import|<script|<link", document)
    seen = Seen()
    seen.feed(document)
    assert all(attributes["src"].startswith("data:image/png;base64,") for tag, attributes in seen.tags if tag == "img")
    assert {tag for tag, _ in seen.tags}.isdisjoint({"i>", "u", "caption"})
    for text in ("T <i>", "about & more", "A <b>&", "right <u>", "A > B", "<caption>", "x < y", "B: wrong"):
        assert text in seen.text


def test_the_page_draws_shares_that_differ_and_times_where_they_do_not():
    document = page(acts(), 12.0, 0).decode()
    assert "Rows: share right, with 95 % intervals" in document
    assert "Other: time of a query" in document


def test_pixels_become_a_png():
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    content = base64.b64decode(pixels_uri(pixels).partition(",")[2])
    assert struct.unpack(">II", content[16:24]) == (3, 2)
    start = content.index(b"IDAT")
    (length,) = struct.unpack(">I", content[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(content[start + 4 : start + 4 + length]), np.uint8).reshape(2, 10)
    assert (lines[:, 1:] == pixels.reshape(2, 9)).all()


# ---------------------------------------------------------------------------------------------------------------- parts


def test_a_patch_is_covered_by_a_third_and_lies_where_it_lay():
    pytest.importorskip("PIL")
    patches = photographs.photographs(0)
    changed = np.array([(a != b).any(axis=2).mean() for a, b in zip(patches.pixels, patches.covered, strict=True)])
    assert 0.2 < changed.mean() <= photographs.COVERED + 0.01
    assert patches.rows.sum(axis=1) == pytest.approx(1)
    assert (patches.rows != patches.questions).any(axis=1).all()


def test_pieces_of_source_code_count_the_characters_of_their_texts():
    pieces = source_pieces(0)
    assert set(pieces.labels) == set(LIBRARIES)
    assert max(np.unique(pieces.labels, return_counts=True)[1]) <= OF_A_LIBRARY
    assert pieces.rows.sum(axis=1).tolist() == [len(text.encode("ascii", "ignore")) for text in pieces.texts]


def test_made_up_rows_sum_to_one():
    rng = np.random.default_rng(0)
    for rows in (made_up_spectra(95, rng), made_up_histograms(95, rng)):
        assert rows.shape[0] == 95
        assert np.asarray(rows.sum(axis=1)).ravel() == pytest.approx(1, abs=1e-6)


class Always:
    def __init__(self, answer):
        self.answer = answer

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


def test_learners_answer_the_same_questions_and_words_come_last():
    X, y = np.ones((6, 2)), np.array([0, 1, 0, 1, 0, 1])
    task = Task(DIGITS, X, X, y, y, ["red sun", "blue sky"] * 3, ["red"] * 3 + ["blue"] * 3)
    lines, said = run(task, {OURS: lambda: Always(1), "other": lambda: Always(0)})
    assert [(one.method, one.share) for one in lines[:2]] == [(OURS, 0.5), ("other", 0.5)]
    assert lines[2].method == WORDS
    assert said.tolist() == [1] * 6


@pytest.mark.parametrize("pasted", [one for commands in next_steps.COMMANDS.values() for one in commands])
def test_what_is_to_be_pasted_are_commands_with_options_that_exist(command, pasted):
    name, *words = pasted.split()
    verb = [word for word in words if re.fullmatch(r"[a-z]+", word)][
        : 2 if words[0] in ("images", "spectra", "molecules", "index") else 1
    ]
    told = command(*verb, "--help").stdout
    assert name == "mercer"
    assert all(option in told for option in words if option.startswith("-"))


def test_snippets_for_rows_run():
    X, y = np.random.default_rng(0).dirichlet(np.ones(16), size=600), np.arange(600) % 2
    names = {"rows": X, "queries": X[:5], "X_train": X, "y_train": y, "X_test": X, "y_test": y}
    for code in (search.SNIPPET, classify.SNIPPET, compress.SNIPPET):
        exec(code, names)
    assert names["ids"].shape == (5, 10)


def test_the_snippet_for_a_table_runs(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 7},{i % 5},{'ab'[i % 2]}\n" for i in range(60))
    (tmp_path / "yours.csv").write_text("one,two,label\n" + rows)
    exec(next_steps.CSV, {})


def test_the_snippet_for_molecules_runs(capsys):
    pytest.importorskip("rdkit")
    exec(next_steps.MOLECULES, {})
    assert capsys.readouterr().out.strip() == "[0.5]"


# -------------------------------------------------------------------------------------------------------------- command


def test_the_tables_are_printed_the_claims_below_them_and_the_page_named(command, cheap, tmp_path):
    out = tmp_path / "demo.html"
    result = command("demo", "--out", out)
    assert result.exit_code == 0
    assert "A <b>&" in result.stdout
    assert "- A > B" in result.stdout
    assert "demo.html" in result.stdout.splitlines()[-1]
    assert out.read_bytes().startswith(b"<!doctype html>")


def test_json_has_the_numbers(succeeds, cheap, tmp_path):
    document = succeeds("demo", "--json", "--out", tmp_path / "demo.html")
    (act,) = document["acts"]
    assert [one["right"] for one in act["lines"]] == [0.9, 0.7, 1.0, 1.0]
    assert json.dumps(document)


def test_an_act_whose_extra_is_missing_is_left_out_and_says_so(command, monkeypatch, tmp_path):
    def missing(seed):
        raise MissingExtraError("Photographs need pillow.")

    monkeypatch.setattr(demo, "ACTS", (missing, lambda seed: acts()[0]))
    result = command("demo", "--out", tmp_path / "demo.html")
    assert result.exit_code == 0
    assert "Photographs need pillow" in result.stderr
    assert "A <b>&" in result.stdout


def test_a_wrong_target_is_refused_before_anything_is_computed(fails, monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "ACTS", (pytest.fail,))
    fails(2, ["no directory"], "demo", "--out", tmp_path / "nowhere" / "demo.html")
