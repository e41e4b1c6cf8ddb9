"""Local machines: cells that hold every row once, left-out scores that are exact, and a fair choice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer import KernelClassifier, KernelRegressor, thread_limit
from mercer.learners.auto import machine, sizes
from mercer.learners.auto.candidates import Candidate, families
from mercer.learners.auto.local.cells import grow_cells
from mercer.learners.auto.local.machine import LocalTrials
from mercer.learners.auto.ridge.closed import FullRidge
from mercer.learners.auto.trials import Judge, Trial


@pytest.fixture
def few_rows_are_many(monkeypatch):
    """Rows from which local machines compete, and the size of their cells, small enough for a test.

    Trials see all of so few rows, and may leave nothing to be gained, which ends the competition: not here.
    """
    monkeypatch.setattr(machine._Work, "is_good", lambda self: False)
    monkeypatch.setattr(sizes, "EXACT_ROWS", 200)
    monkeypatch.setattr(sizes, "LOCAL_ROWS", 400)
    monkeypatch.setattr(sizes, "FEW_CELL_ROWS", 150)
    monkeypatch.setattr(sizes, "FIRST_LANDMARKS", 20)
    monkeypatch.setattr(sizes, "LEAST_LANDMARKS", 20)
    monkeypatch.setattr(sizes, "OPERATIONS_PER_ROW", 0)
    monkeypatch.setattr(sizes, "OPERATIONS", 4e6)


# trials of one kernel take a tenth of the time
ONE_KERNEL = {"kernel": "rbf", "C": "auto", "scaling": "unit", "random_state": 0}


def checkered(rng, n):
    """Classes of small squares: what few landmarks cannot tell, and neighbors can."""
    X = rng.random((n, 2)).astype(np.float32)
    return X, (np.floor(6 * X).sum(axis=1) % 2).astype(int)


@pytest.mark.parametrize("overlap", [0.0, 0.5])
def test_every_row_lies_in_one_cell_and_is_routed_there(rng, overlap):
    X = rng.normal(size=(1000, 4)).astype(np.float32)
    tree, cells = grow_cells(X, 100, overlap)
    assert tree.n_cells == len(cells) == 16
    assert_array_equal(np.sort(np.concatenate([cell.own for cell in cells])), np.arange(1000))
    home = tree.cells_of(X)
    for number, cell in enumerate(cells):
        assert (home[cell.own] == number).all()
        assert len(cell.own) <= 100
        assert np.isin(cell.own, cell.members).all()
        assert len(np.unique(cell.members)) == len(cell.members) == len(cell.own) + int(overlap * len(cell.own))


def test_neighbors_are_the_rows_just_beyond_the_border():
    X = np.arange(100, dtype=np.float32)[np.random.default_rng(0).permutation(100), None]
    _, cells = grow_cells(X, 50, 0.2)
    members = sorted(sorted(X[cell.members, 0]) for cell in cells)
    assert members == [list(range(60)), list(range(40, 100))]


def test_equal_rows_are_dealt_to_cells(rng):
    tree, cells = grow_cells(np.ones((300, 2), dtype=np.float32), 50, 0.5)
    assert max(len(cell.own) for cell in cells) <= 50
    assert len(set(tree.cells_of(np.ones((5, 2), dtype=np.float32)))) == 1
    mixed = np.repeat(rng.normal(size=(3, 2)), [200, 50, 50], axis=0)[rng.permutation(300)]
    assert max(len(cell.own) for cell in grow_cells(mixed, 60, 0.5)[1]) <= 60


@pytest.mark.parametrize("has_groups", [False, True])
def test_left_out_scores_are_those_of_machines_that_never_saw_the_row(rng, has_groups):
    X, y = checkered(rng, 160)
    X, groups = X.astype(np.float64), np.repeat(np.arange(40), 4) if has_groups else None
    weights = rng.uniform(0.5, 2, 160)
    judge = Judge(np.where(y, 1.0, -1.0)[:, None], y, weights, groups)
    family = families(X, X, [mercer.RBF()], ["unit"])[0]
    leader = Trial(Candidate(family, 4.0), 1e-3, 1.0, 0.0, 160, 0.0)
    trials = LocalTrials(X, judge, leader, 60, np.float64, 0)
    trials.run([], lambda: False)
    fit = trials.learn(None, np.ones(1))
    candidate, penalty, scaled = trials.best.candidate, trials.best.penalty, family.scaling.of_validated(X)
    for cell in trials.cells:
        i = cell.own[3]
        left = cell.members != i if groups is None else groups[cell.members] != groups[i]
        rest = cell.members[left]
        # the penalty counts in units of the sum of weights, which a row takes away
        share = weights[cell.members].sum() / weights[rest].sum()
        alone = FullRidge(candidate.kernel, scaled[rest], weights[rest]).fit(judge.targets[rest], penalty * share)
        score = candidate.kernel(scaled[[i]], scaled[rest]) @ alone.coefficients + alone.intercept
        assert_allclose(fit.left_out[i], score[0], rtol=1e-6, atol=1e-8)


def test_local_machines_win_where_neighbors_know_more(rng, few_rows_are_many, tmp_path):
    X, y = checkered(rng, 1500)
    X_test, y_test = checkered(rng, 1000)
    with thread_limit(1):
        model = KernelClassifier(**ONE_KERNEL).fit(X, y)
    plan = model.plan_
    assert plan.cells == model.machine_.predictor.tree.n_cells == 16
    assert "local machines: 16 cells of about 1" in str(plan)
    assert [row[0] for row in plan.rivals] == ["local machines", "landmarks"]
    assert plan.rivals[0][2] > plan.rivals[1][2] + 0.02
    assert abs(plan.score - model.score(X_test, y_test)) < 0.04  # three standard errors of 1,000 rows
    with thread_limit(3):
        again = KernelClassifier(**ONE_KERNEL).fit(X, y)
    assert_array_equal(again.decision_function(X_test), model.decision_function(X_test))
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    assert str(loaded.plan_) == str(plan)


def test_landmarks_win_where_all_rows_tell_the_same(rng, few_rows_are_many, monkeypatch):
    monkeypatch.setattr(sizes, "LEAST_LANDMARKS", 100)
    X = rng.normal(size=(1200, 30))
    y = X @ rng.normal(size=30) + 3 * rng.normal(size=1200)
    model = KernelRegressor(**ONE_KERNEL).fit(X, y)
    assert model.plan_.cells == 0
    assert len(model.plan_.rivals) == 2
    assert model.plan_.rivals[1][2] >= model.plan_.rivals[0][2]


def test_numbers_labels_and_weights_are_learned_in_cells(rng, few_rows_are_many):
    X, y = checkered(rng, 1500)
    numbers = np.column_stack([1e3 * y + 1e6, -y]) + 0.01 * rng.normal(size=(1500, 2))
    model = KernelRegressor(**ONE_KERNEL).fit(X[:1000], numbers[:1000], sample_weight=rng.uniform(0.5, 2, 1000))
    assert model.plan_.cells > 0
    assert model.score(X[1000:], numbers[1000:]) > 0.3
    labels = np.column_stack([y, 1 - y])
    of_labels = KernelClassifier(**ONE_KERNEL).fit(X[:1000], labels[:1000])
    assert of_labels.plan_.cells > 0
    assert (of_labels.predict(X[1000:]) == labels[1000:]).mean() > 0.75


def test_a_group_does_not_vouch_for_itself_in_cells(rng, few_rows_are_many):
    centers, labels = rng.normal(size=(150, 2)), rng.integers(0, 2, 150)
    groups = np.repeat(np.arange(150), 6)
    X, y = centers[groups] + 0.001 * rng.normal(size=(900, 2)), labels[groups]
    assert KernelClassifier(**ONE_KERNEL).fit(X, y).plan_.score > 0.95
    assert KernelClassifier(**ONE_KERNEL).fit(X, y, groups=groups).plan_.score < 0.7


def test_sparse_rows_and_a_short_budget_have_no_cells(rng, few_rows_are_many):
    from scipy import sparse

    X, y = checkered(rng, 900)
    assert KernelClassifier(**ONE_KERNEL).fit(sparse.csr_array(X), y).plan_.rivals == []
    assert KernelClassifier(**ONE_KERNEL, budget=1e-6).fit(X, y).plan_.rivals == []


def test_a_C_of_the_caller_holds_in_every_cell(rng, few_rows_are_many):
    X, y = checkered(rng, 900)
    given = KernelClassifier(C=50.0, scaling="unit", random_state=0).fit(X, y)
    assert given.plan_.cells > 0
    assert given.C_ == 50.0
