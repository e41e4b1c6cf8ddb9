"""Plans in the words of a user, as a sentence, as a table and in notebooks."""

import re

import numpy as np
import pytest

from mercer import (
    RBF,
    HomogeneousMap,
    IntersectionSVC,
    KernelClassifier,
    KernelRegressor,
    NystroemMap,
    ProductQuantizer,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.random((120, 36)), np.arange(120) % 6


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (
            KernelClassifier("chi2"),
            "chi2 kernel through a map of 7 numbers per column (252 in all); 15 pairs of",
        ),
        (KernelClassifier("hellinger"), "hellinger kernel through a map of 1 number per column (36 in all)"),
        (KernelClassifier("chi2", multi_class="ovr"), "6 classes, each against the rest"),
        (KernelClassifier("chi2", loss="multinomial"), "6 classes at once"),
        (KernelClassifier(RBF(0.123456)), "rbf kernel (gamma=0.1235) computed exactly between 120 rows"),
        (KernelClassifier(map=NystroemMap(RBF(1.0), n_landmarks=20)), "through landmarks (20 numbers per row)"),
        (KernelClassifier(map=ProductQuantizer(9, bits=3)), "linear kernel through codes of 4 bytes per row"),
        (IntersectionSVC(), "through a table per column"),
        (KernelRegressor("chi2"), "1 output;"),
    ],
)
def test_a_plan_is_a_sentence(model, said, data):
    plan = model.plan(*data)
    assert said in plan.summary
    assert re.search(r"; [\d,.]+ (B|KiB|MiB) of memory$", plan.summary)
    assert plan.summary in str(plan)


def test_two_classes_and_labels_are_counted_as_what_they_are(data):
    X, y = data
    assert "; 2 classes;" in KernelClassifier("chi2").plan(X, y > 2).summary
    labels = np.stack([y > 2, y % 2 == 0], axis=1).astype(int)
    assert "; 2 labels;" in KernelClassifier("chi2").plan(X, labels).summary


def test_a_plan_is_a_small_table_in_a_notebook_and_what_a_user_named_is_text_there(data):
    X, y = data

    def kernel(A, B):
        return A @ B.T

    kernel.__qualname__ = "<img src=x>"
    html = KernelClassifier(kernel).plan(X, y)._repr_html_()
    assert html.startswith("<table>")
    assert "<img" not in html
    fitted = KernelClassifier(map=HomogeneousMap("chi2")).fit(X, y)
    for shown in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert fitted.plan_._repr_html_() in shown
    assert "of memory" not in KernelClassifier()._repr_html_()


def test_what_trials_have_reached_is_drawn(data):
    X, y = data
    plan = KernelClassifier(random_state=0, budget=0.5).fit(X, y).plan_
    html = plan._repr_html_()
    assert html.count("<rect") == len({(row[0], row[1]) for row in plan.trials}) or html.count("<rect") == 6
    assert f"accuracy {plan.score:.4f} on left-out rows" in plan.summary
