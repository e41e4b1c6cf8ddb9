"""Machines that answer together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor, PanelPredictor
from mercer.learners.auto.panel import Member, judged_alike
from mercer.learners.auto.trials import Judge


def few_rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, (X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = few_rows()
    return KernelClassifier(random_state=0).fit(X, y)


def member(left_out):
    return Member(None, None, left_out)


def test_a_rival_joins_only_if_left_out_rows_do_not_tell_it_from_the_best():
    rng = np.random.default_rng(0)
    targets = rng.normal(size=(400, 1))
    judge = Judge(targets, None, np.ones(400))
    best, alike = (member(targets + rng.normal(size=(400, 1))) for _ in range(2))
    worse = member(targets + 1.5 * rng.normal(size=(400, 1)))
    assert judged_alike(best, [worse, alike], judge) == [best, alike]


def test_rows_of_a_group_count_as_one():
    # copies of a row say nothing new: ten of each in a group allow what the single rows allow
    rng = np.random.default_rng(4)
    targets = rng.normal(size=(30, 1))
    best = targets + rng.normal(size=(30, 1))
    other = best + 0.35 * np.sign(best - targets)  # worse on every row, by more or less
    other[:8] = targets[:8]  # but for some

    def is_member(repeats, groups):
        wide = [np.repeat(values, repeats, axis=0) for values in (targets, best, other)]
        judge = Judge(wide[0], None, np.ones(30 * repeats), groups)
        return len(judged_alike(member(wide[1]), [member(wide[2])], judge)) == 2

    assert is_member(1, None)
    assert is_member(10, np.repeat(np.arange(30), 10))
    assert not is_member(10, None)


def test_few_rows_have_several_machines_and_the_plan_names_them(fitted):
    assert isinstance(fitted.machine_, PanelPredictor)
    assert len(fitted.plan_.others) == len(fitted.machine_.parts) - 1 >= 1
    for name in fitted.plan_.others:
        assert name in str(fitted.plan_)


def test_scores_are_those_of_the_parts_and_survive_a_file(fitted, tmp_path):
    X = few_rows(seed=1)[0]
    parts = sum(part(X) for part in fitted.machine_.parts)
    expected = fitted.link_.decision(parts + fitted.intercept_)
    assert_allclose(fitted.decision_function(X), expected, rtol=1e-12)  # the same sums, in the same order
    mercer.save(fitted, tmp_path / "model.mercer")
    assert_array_equal(mercer.load(tmp_path / "model.mercer").decision_function(X), fitted.decision_function(X))


def test_a_named_kernel_stays_alone():
    X, y = few_rows()
    model = KernelClassifier("rbf", C="auto", random_state=0).fit(X, y)
    assert not isinstance(model.machine_, PanelPredictor)


def test_numbers_are_averaged_too():
    X = few_rows()[0]
    y = X[:, 0] + 0.5 * np.random.default_rng(3).normal(size=len(X))
    model = KernelRegressor(random_state=0).fit(X, y)
    parts = sum(part(X) for part in getattr(model.machine_, "parts", [model.machine_]))
    assert_allclose(model.predict(X), (parts + model.intercept_).ravel(), rtol=1e-12)


def test_parts_of_other_widths_are_refused(fitted):
    X, y = few_rows()
    other = KernelClassifier(random_state=0).fit(X[:, :3], y)
    with pytest.raises(mercer.InputError, match="the same number of columns"):
        PanelPredictor([fitted.machine_.parts[0], *getattr(other.machine_, "parts", [other.machine_])])
