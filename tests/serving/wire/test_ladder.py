"""WireClassifier: codes of every rate are beginnings of the longest, and score as the model of their rate does."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from mercer import InputError, KernelPCA, QuantizedJL, UniversalEmbedding, load, save
from mercer.serving import WireClassifier

EMBEDDINGS = {
    "universal": UniversalEmbedding(64, delta=80.0, random_state=0),
    "levels": QuantizedJL(40, bits=2, random_state=0),
    "blocks": UniversalEmbedding(16, delta=20.0, block_size=16, random_state=0),
}


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:400], y[:400]


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_every_rate_takes_the_beginning_of_the_longest_code(name, digits, tmp_path):
    X, y = digits
    longest = getattr(EMBEDDINGS[name], "n_bits", 40)
    made = WireClassifier(EMBEDDINGS[name], rates=[longest // 2, longest], Cs=[10.0], cv=2).fit(X, y)
    assert made.rates_ == sorted(made.rates_)
    for bits, model, point in zip(made.rates_, made.classifiers_, made.curve_, strict=True):
        spec = made.specification(bits)
        assert spec.fingerprint == made.specification_.shortened(spec.projections).fingerprint
        np.testing.assert_allclose(
            made.decision_codes(model.map_.transform(X[:20]), bits), model.decision_function(X[:20])
        )
        assert point["low"] < point["accuracy"] < point["high"]
        assert point["bits"] == bits
    assert made.curve_[0]["accuracy"] < made.curve_[1]["accuracy"] + 0.02
    save(made, tmp_path / "wire.mercer")
    again = load(tmp_path / "wire.mercer")
    np.testing.assert_array_equal(again.predict(X), made.predict(X))
    assert again.curve_ == made.curve_
    assert again.specification_.fingerprint == made.specification_.fingerprint


def test_delta_is_chosen_by_cross_validation_not_by_the_rule_alone(digits):
    X, y = digits
    made = WireClassifier(UniversalEmbedding(64, random_state=0), rates=[64], Cs=[10.0], cv=2).fit(X, y)
    rule = UniversalEmbedding(64, random_state=0).fit(X).delta_
    factors = made.embedding_.delta_ / rule
    assert min(abs(factors - np.array([0.5, 0.71, 1.0, 1.41, 2.0, 2.83]))) < 1e-9
    plain = WireClassifier(UniversalEmbedding(64, delta=rule / 2, random_state=0), rates=[64], Cs=[10.0], cv=2).fit(
        X, y
    )
    assert made.curve_[0]["accuracy"] >= plain.curve_[0]["accuracy"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (WireClassifier(KernelPCA()), "to be a UniversalEmbedding, QuantizedJL or CompactEmbedding"),
        (WireClassifier(EMBEDDINGS["universal"], rates=[65]), "rates of 1 to 64 projections"),
        (WireClassifier(EMBEDDINGS["universal"], rates=[]), "rates of 1 to 64 projections"),
    ],
)
def test_bad_parameters_are_named(made, message, digits):
    with pytest.raises(InputError, match=message):
        made.fit(*digits)


def test_a_rate_that_is_none_is_named(digits):
    made = WireClassifier(EMBEDDINGS["universal"], rates=[32, 64], Cs=[10.0], cv=2).fit(*digits)
    with pytest.raises(InputError, match="rates 32, 64 bits, got 48"):
        made.decision_codes(np.zeros((1, 6), np.uint8), 48)
