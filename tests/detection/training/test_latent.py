"""Latent training: the objective never rises while the cache is fixed, bounds hold, seeds and checkpoints repeat."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from mercer import InputError
from mercer.detection import PartDetector
from mercer.detection.cells.codebook import CellCodebook
from mercer.detection.cells.pyramid import PyramidShape, build_pyramid
from mercer.detection.cells.storage import CodedCells, DenseCells
from mercer.detection.model.components import LEAST, mirrored_component
from mercer.detection.training.examples import Cache, ExampleRows
from mercer.detection.training.initial import choose_parts, sides_of
from mercer.detection.training.latent import Trainer, TrainingSettings
from mercer.detection.training.rounds import run_round
from mercer.detection.training.solving import DEFORMATION_SCALE, ComponentProblem, component_of, weights_of
from mercer.vision import hog
from tests.detection.scenes import scenes

SETTINGS = TrainingSettings(cache_size=400, max_negatives_per_image=20, n_mining_rounds=1, tol=1e-3, C=0.05)


def trainer_of(storage_name, seed=0, settings=SETTINGS):
    images, boxes = scenes(0)
    cells = np.concatenate([hog(image, truncation=True).reshape(-1, 32) for image in images])
    book = CellCodebook.learn(cells, 32, np.random.RandomState(0))
    storage = CodedCells(book) if storage_name == "codes" else DenseCells()
    shape = PyramidShape(3, 2, (9, 6))
    pyramids = [build_pyramid(image, shape, storage) for image in images]
    groups = [np.zeros(len(own), dtype=int) for own in boxes]
    return Trainer(pyramids, boxes, groups, [(9, 6)], storage, settings, np.random.RandomState(seed))


def test_a_symmetric_component_learns_from_objects_and_their_mirror_images():
    trainer = trainer_of("codes", settings=replace(SETTINGS, is_paired=False, is_symmetric=True))
    n_boxes = sum(map(len, trainer.boxes))
    assert trainer.begin() == 2 * n_boxes
    storage, cells = trainer.storage, trainer._positive_rows(0).cells.reshape(-1, 9, 6)
    for one in cells:  # an object and its mirror image are both there
        assert (cells == storage.mirrored(one)).all(axis=(1, 2)).any()
    run_round(trainer, "root", 1, 2)
    run_round(trainer, "parts", 0, 2)
    assert len(trainer.components) == 1
    sides = [view for one in trainer.positives.values() for view in one.where[:, 0]]
    assert sides.count(0) == sides.count(1) > 0
    rows, scores = trainer._positive_rows(0), trainer.problem(0).scores(weights_of(trainer.learnt[0]))
    assert len(rows) == len(trainer.positives)
    trainer.relabel()
    again = trainer.problem(0).scores(weights_of(trainer.learnt[0]))[: len(rows)]
    placed = [one.scores[0] for one in trainer.positives.values()]
    np.testing.assert_allclose(sorted(again), sorted(placed), atol=1e-4)
    assert again.sum() >= scores[: len(rows)].sum() - 1e-3


@pytest.mark.parametrize("storage_name", ["codes", "dense"])
def test_the_latent_objective_never_rises_while_the_cache_is_fixed(storage_name):
    trainer = trainer_of(storage_name)
    run_round(trainer, "root", 0, 2)
    run_round(trainer, "parts", 0, 2)
    values = [trainer.objective()]
    for _ in range(2):
        before = {name: one.scores[0] for name, one in trainer.positives.items()}
        trainer.relabel()
        values.append(trainer.objective())
        assert set(before) <= set(trainer.positives)
        trainer.solve()
        values.append(trainer.objective())
    # scores are float32 sums of a few hundred numbers
    assert all(later <= earlier * (1 + 1e-5) for earlier, later in pairwise(values))
    for component in trainer.learnt:
        assert (component.deformations[:, ::2] >= LEAST * (1 - 1e-9)).all()


@pytest.mark.parametrize("storage_name", ["codes", "dense"])
def test_cached_rows_score_what_their_placements_do(storage_name):
    trainer = trainer_of(storage_name)
    run_round(trainer, "root", 0, 2)
    run_round(trainer, "parts", 0, 2)
    trainer.caches[0].clear()
    scorer = trainer.scorer()
    trainer.mine()
    problem = trainer.problem(0)
    scores = problem.scores(weights_of(trainer.learnt[0]))
    keys = trainer.caches[0].rows.keys
    found = {}
    for i in np.unique(keys[:, 0]):
        placements = scorer.best(trainer.pyramids[i], -np.inf)
        found |= {(i, *where): score for where, score in zip(placements.where.tolist(), placements.scores, strict=True)}
    expected = [found[tuple(key[:5])] for key in keys.tolist()]
    assert {key[1] for key in keys.tolist()} == {0, 1}  # of both sides
    np.testing.assert_allclose(scores[-len(keys) :], expected, atol=1e-4)


def test_weights_that_would_fall_below_their_bound_are_held_there(rng):
    cells = rng.normal(size=(60, 4, 32)).astype(np.float32)
    displacements = -rng.integers(0, 9, (60, 4)).astype(np.float32)
    targets = np.where(displacements[:, 0] < -4, 1, -1)  # far displacements speak for an object
    problem = ComponentProblem(cells, displacements, targets, DenseCells(), 0.1)
    start = np.zeros(4 * 32 + 5)
    start[problem.bounded] = 0.1 / DEFORMATION_SCALE
    u, _ = problem.solve(start, 1e-4, 500)
    assert u[problem.bounded[0]] == problem.bound
    assert u[problem.bounded[1]] >= problem.bound
    assert problem.objective(u) < problem.objective(start)
    # no direction that keeps the bounds leads down
    free = np.setdiff1d(np.arange(len(u)), problem.bounded[u[problem.bounded] <= problem.bound])
    for _ in range(200):
        step = np.zeros(len(u))
        step[free] = rng.normal(size=len(free)) * 1e-3
        assert problem.objective(u + step) >= problem.objective(u) * (1 - 1e-4)


def test_ctrl_c_in_the_solver_ends_the_training(rng, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.learners.solvers.bundle.solver._BundleRun.step", interrupted)
    cells = rng.normal(size=(60, 4, 32)).astype(np.float32)
    problem = ComponentProblem(cells, np.empty((60, 0), np.float32), np.arange(60) % 2 * 2 - 1, DenseCells(), 0.1)
    with pytest.raises(KeyboardInterrupt):
        problem.solve(np.zeros(4 * 32 + 1), 1e-4, 500)


def test_weights_and_components_are_each_other(rng):
    component = choose_parts(rng.normal(size=(9, 6, 32)).astype(np.float32), 3)
    component.bias = 0.25
    back = component_of(weights_of(component), component)
    for name in ("root", "parts", "deformations", "bias"):
        np.testing.assert_allclose(getattr(back, name), getattr(component, name), rtol=1e-6)
    again = mirrored_component(mirrored_component(component))
    for name in ("root", "parts", "anchors", "deformations", "bias"):
        np.testing.assert_array_equal(getattr(again, name), getattr(component, name))


def test_parts_cover_the_strongest_squares_of_a_root():
    root = np.zeros((8, 8, 32), dtype=np.float32)
    root[1:4, 5:8, 3] = 1.0
    root[5:8, 0:3, 7] = 0.5
    root[0, 0] = -9.0  # what speaks against an object is no part of it
    component = choose_parts(root, 2)
    assert component.anchors.tolist() == [[2, 10], [10, 0]]


def test_sides_tell_mirror_images_apart(rng):
    left = rng.normal(size=(1, 50)) + 0.3 * rng.normal(size=(20, 50))
    right = rng.normal(size=(1, 50)) + 0.3 * rng.normal(size=(20, 50))
    turned = rng.random(20) < 0.5
    features, mirrored = np.where(turned[:, None], right, left), np.where(turned[:, None], left, right)
    found = sides_of(features, mirrored)
    assert (found == turned).all() or (found != turned).all()


def test_the_cache_is_bounded_and_keeps_each_row_once(rng):
    def rows(start, count):
        keys = np.arange(start, start + count, dtype=np.int32)[:, None]
        return ExampleRows(rng.integers(0, 9, (count, 3)).astype(np.uint8), np.zeros((count, 0), np.float32), keys)

    cache = Cache(10)
    assert cache.add(rows(0, 6)) == 6
    assert cache.add(rows(4, 4)) == 2
    assert cache.add(rows(8, 9)) == 2
    assert cache.rows.keys[:, 0].tolist() == list(range(10))
    cache.keep(np.arange(10) % 2 == 0)
    assert cache.add(rows(0, 3)) == 1


# ---- the estimator


QUICK = {
    "n_parts": 2, "codewords": 32, "margin": 1, "interval": 3, "padding": 2, "C": 0.05, "cache_size": 400,
    "max_negatives_per_image": 20, "n_root_rounds": 1, "n_part_rounds": 2, "n_mining_rounds": 1, "random_state": 0,
}  # fmt: skip


def same_model(first, second):
    for name in ("roots_", "parts_", "deformations_"):
        for one, other in zip(getattr(first, name), getattr(second, name), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_training_that_was_interrupted_goes_on_to_the_same_model(tmp_path, monkeypatch):
    images, boxes = scenes(0)
    straight = PartDetector(**QUICK).fit(images, boxes)
    file = tmp_path / "state.npz"
    import mercer.detection.training.rounds as module

    def stops(trainer, stage, number, n_parts):
        if (stage, number) == ("parts", 1):
            raise KeyboardInterrupt
        run_round(trainer, stage, number, n_parts)

    interrupted = PartDetector(**QUICK, checkpoint=file)
    with monkeypatch.context() as patch:
        patch.setattr(module, "run_round", stops)
        with pytest.raises(KeyboardInterrupt):
            interrupted.fit(images, boxes)
    resumed = PartDetector(**QUICK, checkpoint=file, n_jobs=1).fit(images, boxes)
    same_model(straight, resumed)
    with pytest.raises(InputError, match="belongs to a different training \\(codewords: 32, now 16\\)"):
        PartDetector(**{**QUICK, "codewords": 16}, checkpoint=file).fit(images, boxes)
    file.write_bytes(b"no archive")
    with pytest.raises(InputError, match="cannot be read"):
        PartDetector(**QUICK, checkpoint=file).fit(images, boxes)
