"""Accuracy against bits: every code at every rate it has, learned from training rows only, with honest intervals."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from mercer import CompactEmbedding, InputError, ProductQuantizer, QuantizedJL, UniversalEmbedding
from mercer._base.evaluation.intervals import wilson_interval
from mercer.serving import rate_accuracy
from mercer.serving.wire.rate_codes import CODES, RawQuantizer, SharedQuantizer, dense_features, rates_of, split_of

X, y = load_digits(return_X_y=True)
X, y = X[:240], y[:240] % 3
QUICK = {"Cs": [1.0], "cv": 2, "random_state": 0}


@pytest.fixture(scope="module")
def found():
    return rate_accuracy(X, y, [8, 64], codes=[*CODES, "universal-2"], n_splits=2, **QUICK)


def test_every_code_has_the_rates_that_it_can_have(found):
    rates = {code: [point.bits for point in found.points if point.code == code] for code in (*CODES, "universal-2")}
    both = [8, 64]
    assert rates == {
        "unquantised": [None], "raw": [64], "raw-mean": [64], "qjl-1": both, "qjl-2": both, "qjl-3": [], "qjl-4": both,
        "universal": both, "compact": both, "pq": both, "universal-2": both,
    }  # fmt: skip
    assert rates_of("raw", [200], 64) == [64, 128, 192]
    assert all(m * b == bits and b <= 8 for bits in range(1, 100) for m, b in [split_of(bits)])


def test_more_bits_are_better_and_intervals_are_students(found):
    for code in ("qjl-1", "universal"):
        assert found.at(code, 8).accuracy < found.at(code, 64).accuracy
    point = found.at("compact", 8)
    mean, half = point.scores.mean(), stats.sem(point.scores) * stats.t.ppf(0.975, 1)
    np.testing.assert_allclose(
        [point.accuracy, point.low, point.high], [mean, max(mean - half, 0), min(mean + half, 1)]
    )
    reference = found.at("unquantised")
    mean, low, high = found.difference(point, reference)
    np.testing.assert_allclose([mean, (low + high) / 2], (point.scores - reference.scores).mean())


def test_table_and_text_say_the_same(found):
    columns, rows = found.table()
    assert len(rows) == len(found.points)
    text = str(found).splitlines()
    assert len(text) == len(rows) + 1
    assert all(row[0] in line and f"{row[3]:.4f}" in line for row, line in zip(rows, text[1:], strict=True))
    assert dict(zip(columns, rows[-1], strict=True))["bytes of a row"] == 8
    figure = found.plot()
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"unquantised", "compact", "universal-2"}


def test_the_same_seed_gives_the_same_answer(found):
    again = rate_accuracy(X, y, [8], codes=["compact", "qjl-1"], n_splits=2, **QUICK)
    other = rate_accuracy(X, y, [8], codes=["compact", "qjl-1"], n_splits=2, **{**QUICK, "random_state": 1})
    np.testing.assert_array_equal(again.at("compact").scores, found.at("compact", 8).scores)
    assert (other.at("qjl-1").scores != again.at("qjl-1").scores).any()


def test_nothing_is_learned_from_test_rows():
    """A test set of labels that contradict training makes every code fail: no rule, threshold or C has seen them."""
    wrong = rate_accuracy(X, y, [32], codes=["raw-mean", "universal", "compact"], test=(X, (y + 1) % 3), **QUICK)
    assert max(point.accuracy for point in wrong.points) < 0.05
    low, high = wilson_interval(wrong.points[0].accuracy, len(y))
    assert (wrong.points[0].low, wrong.points[0].high) == (low, high)


def test_a_classifier_of_ones_own_and_codes_of_ones_own():
    codes = {
        "mine": lambda bits: QuantizedJL(bits, center=False) if bits > 8 else None,
        "squares": lambda bits: FunctionTransformer(np.square),
    }
    found = rate_accuracy(X, y, [8, 64], codes=codes, n_splits=2, n_draws=2, classifier=LinearSVC(), random_state=0)
    assert [(point.code, point.bits) for point in found.points] == [("mine", 64), ("squares", 8), ("squares", 64)]
    assert found.at("mine").accuracy > 0.7
    guess = rate_accuracy(X, y, [8], codes=["universal"], classifier=DummyClassifier(), n_splits=2, random_state=0)
    assert abs(guess.at("universal").accuracy - np.bincount(y).max() / len(y)) < 0.02


@pytest.mark.parametrize(
    "code",
    [QuantizedJL(20, random_state=0), QuantizedJL(9, bits=3, random_state=0), QuantizedJL(10, bits=2, random_state=0),
     UniversalEmbedding(20, random_state=0), CompactEmbedding(5, block_size=16, random_state=0),
     ProductQuantizer(n_blocks=8, bits=4, random_state=0)],
)  # fmt: skip
def test_dense_features_have_the_kernel_of_the_code(code):
    features = dense_features(code.fit(X), X[:30])
    np.testing.assert_allclose(features @ features.T, code.approximate_kernel(X[:30]), rtol=1e-4, atol=1e-3)


def test_raw_numbers_become_means_of_cells():
    raw = RawQuantizer(2, block_size=16).fit(X)
    blocks, values = X.reshape(-1, 16), raw.transform(X).reshape(-1, 16)
    for j in (3, 5):
        assert len(np.unique(values[:, j])) <= 4
        for value in np.unique(values[:, j]):
            np.testing.assert_allclose(blocks[values[:, j] == value, j].mean(), value)
    mean = RawQuantizer(thresholds="mean").fit(X)
    above = [np.greater(rows, X.mean(axis=0)) for rows in (mean.transform(X), X)]
    np.testing.assert_array_equal(*above)


def test_words_are_shared_by_blocks():
    made = SharedQuantizer(16, 4, random_state=0).fit(X)
    words = np.unique(made.transform(X).reshape(-1, 16), axis=0)
    assert len(words) <= 16
    twice = np.concatenate([X[:, 16:32], X[:, 16:32], X[:, :32]], axis=1)
    np.testing.assert_array_equal(made.transform(twice)[:, :16], made.transform(twice)[:, 16:32])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": ["magic"]}, "has the codes unquantised"),
        ({"codes": ["universal-0"]}, "has the codes unquantised"),
        ({"bits": []}, "bits to be integers"),
        ({"bits": [0]}, "bits to be integers"),
        ({"block_size": 5}, "divide the 64 columns of X; got 5"),
        ({"block_size": 0}, "divide the 64 columns of X; got 0"),
        ({"codes": ["qjl-3"]}, "none of the codes qjl-3 in 8 bits"),
        ({"test": (X[:, :3], y)}, "test rows of 64 columns"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(InputError, match=message):
        rate_accuracy(X, y, **{"bits": [8], **change})


def test_a_point_that_is_not_there_is_said(found):
    with pytest.raises(InputError, match="no point for 'qjl-3'"):
        found.at("qjl-3")
