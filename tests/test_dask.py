"""Dask: the same estimators and the same answers on the workers of a cluster, and after one of them is lost."""

import operator
import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from mercer import (
    KLSH,
    RBF,
    ConvexReduction,
    HomogeneousMap,
    IntersectionSVC,
    KernelClassifier,
    KernelClassifierCV,
    KernelIndex,
    KernelPCA,
    KernelRegressor,
    LevelQuantizer,
    NystroemMap,
    ProductQuantizer,
    ProjectedMap,
    SignHash,
    UniversalEmbedding,
    open_rows,
)
from mercer._base.errors import InputError

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def digits():
    """Digits 0 to 3: a pass over a cluster takes a while whatever its size."""
    X, y = load_digits(n_class=4, return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def chunked(X, size):
    return da.from_array(X, chunks=(size, *X.shape[1:]))


@pytest.fixture
def small_groups(monkeypatch):
    monkeypatch.setattr("mercer.learners.dask.groups.GROUP_ROWS", 200)  # else all of these rows are one task


# ---------------------------------------------------------------------------------------------------------------- rows


def test_a_source_gives_what_the_array_holds(digits):
    X = digits[0]
    rows = open_rows(chunked(X, 500))
    assert rows.shape == X.shape
    np.testing.assert_array_equal(np.concatenate([block for block, _ in rows.blocks(130)]), X)
    plain = open_rows(X)
    np.testing.assert_array_equal(rows.sample(99, 3), plain.sample(99, 3))
    np.testing.assert_array_equal(rows.head(3), X[:3])


def test_columns_of_a_data_frame_are_numbers_and_labels(digits):
    frame = pd.DataFrame(digits[0], columns=[f"c{i}" for i in range(64)]).assign(kind=digits[1])
    rows = open_rows(dd.from_pandas(frame, npartitions=3), label="kind")
    assert rows.feature_names == tuple(f"c{i}" for i in range(64))
    np.testing.assert_array_equal(rows.y, digits[1])
    np.testing.assert_array_equal(np.concatenate([block for block, _ in rows.blocks()]), digits[0])
    with pytest.raises(InputError, match="'name' of type"):
        open_rows(dd.from_pandas(frame.assign(name="a"), npartitions=2))


def test_without_a_client_chunks_are_read_here(digits):  # before any test that has one
    X, y = digits
    learner = KernelClassifier("chi2").fit(chunked(X, 500), y)
    assert learner.plan_.storage == "memory"
    assert learner.objective_.sum() == KernelClassifier("chi2").fit(open_rows(X), y).objective_.sum()


def test_sizes_of_chunks_that_are_not_known_are_found_out(digits):
    X = digits[0]
    rows = chunked(X, 200)
    rows = rows[rows[:, 20] > 8]
    assert np.isnan(rows.shape[0])
    np.testing.assert_array_equal(open_rows(rows).head(5), X[X[:, 20] > 8][:5])
    with pytest.raises(InputError, match="the Dask array must have two dimensions, rows and columns; got 1"):
        open_rows(rows[:, 0])


@pytest.mark.process
def test_a_number_that_is_not_finite_is_named(client):
    X = np.ones((100, 3))
    X[77, 1] = np.nan
    with pytest.raises(InputError, match="row 77, column 1, both counted from 0, holds nan"):
        KernelClassifier("linear").fit(chunked(X, 30), np.arange(100) % 2)


# ------------------------------------------------------------------------------------------------------------ learning


@pytest.mark.process
@pytest.mark.parametrize(
    "learner",
    [
        KernelClassifier(
            "chi2", loss="hinge", C=0.1, multi_class="ovr"
        ),  # pairs have problems of their own in one process
        KernelClassifier("intersection", loss="logistic", intercept_scaling=None, multi_class="ovr", tol=1e-6),
        KernelClassifier("chi2", loss="crammer_singer", C=1e-3),
        KernelClassifier(map=ProductQuantizer(bits=5, random_state=0), C=1e-4, tol=1e-6),
        KernelClassifier(map=ProductQuantizer(bits=5, random_state=0), C=1e-4, tol=1e-6, expansion="immediate"),
        KernelClassifier(map=ProductQuantizer(bits=4, random_state=0), C=1e-4, tol=1e-6),
        KernelClassifier(map=KLSH("chi2", 64, n_landmarks=60, random_state=0), C=0.1, tol=1e-6, multi_class="ovr"),
        KernelRegressor("chi2", loss="squared", C=1e-3, tol=1e-6),
    ],
    ids=lambda learner: f"{learner.loss}-{learner.expansion}",
)
def test_a_fit_is_that_of_one_process(client, small_groups, digits, learner):
    X, y = digits
    alone = clone(learner).set_params(solver="bundle").fit(X, y)
    spread = clone(learner).fit(chunked(X, 100), chunked(y, 100))
    assert spread.plan_.storage == "workers"
    assert spread.plan_.solver == "bundle"
    assert spread.objective_.sum() == pytest.approx(alone.objective_.sum(), rel=1e-6)
    scores = spread.predict(chunked(X, 400))
    assert isinstance(scores, np.ndarray)
    assert (scores == alone.predict(X)).mean() > 0.999 or np.allclose(scores, alone.predict(X), rtol=1e-3)


@pytest.mark.process
def test_sparse_chunks_weights_and_two_classes(client, small_groups, digits):
    from scipy import sparse

    X, y = digits[0], digits[1] > 1
    weights = np.linspace(0, 2, len(X))
    csr = chunked(X, 600).map_blocks(sparse.csr_array)
    learner = KernelClassifier("chi2", C=0.1, class_weight="balanced")
    alone = clone(learner).set_params(solver="bundle").fit(sparse.csr_array(X[1:]), y[1:], weights[1:])
    spread = learner.fit(csr, chunked(y, 600), chunked(weights, 600))
    assert spread.objective_.sum() == pytest.approx(alone.objective_.sum(), rel=1e-6)


@pytest.mark.process
def test_columns_that_are_solved_early_are_left_out(client, small_groups, rng):
    X = rng.random((600, 5))
    Y = np.stack([X[:, 0] > 0.5, X[:, 1] > X[:, 2] * X[:, 3], np.ones(600, bool)], axis=1).astype(int)
    learner = KernelClassifier("chi2", C=0.3, tol=1e-4)
    alone = clone(learner).set_params(solver="bundle").fit(X, Y)
    spread = learner.fit(chunked(X, 100), Y)
    np.testing.assert_allclose(spread.objective_, alone.objective_, rtol=1e-6, atol=1e-9)


@pytest.mark.process
@pytest.mark.parametrize("solver", ["auto", "primal"])
def test_classes_of_an_intersection_machine_run_side_by_side(client, small_groups, digits, solver):
    X, y = digits
    alone = IntersectionSVC(1e-3, tol=1e-5).fit(X, y)  # the default follows from a sample of rows that are spread
    spread = IntersectionSVC(1e-3, tol=1e-5, solver=solver).fit(chunked(X, 500), y)
    assert spread.plan_.solver == ("icd" if solver == "auto" else "bundle")
    np.testing.assert_allclose(spread.objective_, alone.objective_, rtol=2e-5)
    two = IntersectionSVC(tol=1e-5).fit(chunked(X, 500), y > 1)
    assert two.plan_.solver == "bundle"
    assert two.score(X, y > 1) == pytest.approx(IntersectionSVC(tol=1e-5).fit(X, y > 1).score(X, y > 1), abs=2e-3)


@pytest.mark.process
def test_the_number_of_workers_changes_nothing(small_groups, digits):
    X, y = digits
    found = []
    for count in (1, 2, 3):
        options = {"n_workers": count, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
            learner = KernelClassifier(map=NystroemMap("rbf", n_landmarks=20), random_state=0, C=0.1, max_iter=5)
            found.append(learner.fit(chunked(X.astype("f4"), 100), y))
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].map_.landmarks_, other.map_.landmarks_)
        np.testing.assert_array_equal(found[0].coef_, other.coef_)


@pytest.mark.process
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_many_landmarks_have_the_bits_of_one_process_with_the_same_chunks(monkeypatch, small_groups, digits, loss):
    monkeypatch.setattr("mercer.maps.landmarks.nystroem.MOST_EIGENVECTORS", 20)
    X, y = chunked(digits[0].astype("f4"), 100), digits[1]
    mapping = NystroemMap("rbf", landmarks=digits[0][:40].astype("f4"))
    learner = KernelClassifier(map=mapping.set_params(kernel=RBF(1e-3)), loss=loss, solver="falkon", multi_class="ovr")
    alone = clone(learner).fit(X, y)
    for count in (1, 2):
        options = {"n_workers": count, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
            spread = clone(learner).fit(X, y)
        assert spread.plan_.storage == "workers"
        assert spread.plan_.solver == "falkon"
        np.testing.assert_array_equal(spread.coef_, alone.coef_)
        np.testing.assert_array_equal(spread.dual_objective_, alone.dual_objective_)


@pytest.mark.process
def test_what_processes_send_one_another_is_aligned():
    from mercer.learners.dask.tasks import Tasks

    arrays = [(np.arange(float(n)),) for n in range(1000, 1020)]
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        tasks = Tasks(client)
        there = tasks.gather(tasks.each("look", operator.attrgetter("flags.aligned"), arrays))
        here = [a.flags.aligned for a in tasks.gather(tasks.each("double", np.add, [(a, a) for (a,) in arrays]))]
    assert all(there)  # at 4 of 5 addresses numpy would do without BLAS
    assert all(here)


@pytest.mark.process
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_worker_that_is_killed_delays_a_fit_and_changes_nothing(small_groups, digits, tmp_path):
    X, y = np.tile(digits[0], (2, 1)), np.tile(digits[1], 2)
    learner = KernelClassifier("chi2", loss="hinge", C=0.3, multi_class="ovr")
    alone = clone(learner).set_params(solver="bundle").fit(X, y)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        first = next(iter(cluster.workers.values()))
        pid, killed = first.pid, []

        def kill():
            import os
            import signal

            end = time.monotonic() + 60
            while time.monotonic() < end:  # in the middle: when lines are searched
                tasks = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
                if sum("mercer-line" in str(key) or "mercer-plane" in str(key) for key in tasks):
                    time.sleep(0.5)
                    os.kill(pid, signal.SIGKILL)
                    killed.append(True)
                    return
                time.sleep(0.05)

        thread = threading.Thread(target=kill)
        thread.start()
        spread = learner.fit(chunked(X, 300), y)
        thread.join()
        assert killed
        assert first.pid != pid or len(client.scheduler_info()["workers"]) < 2
    assert spread.objective_.sum() == pytest.approx(alone.objective_.sum(), rel=1e-6)


@pytest.mark.process
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (KernelClassifier("chi2", solver="newton"), "solver='newton' needs all rows in one process"),
        (KernelClassifier("chi2", probability=True), "probability=True uses cross-validation"),
        (KernelClassifier(), "can try kernels only on rows in the memory of one process. Name a kernel"),
        (KernelClassifierCV(), "Choose C on a sample"),
        (IntersectionSVC(kernel="auto"), "Use kernel='intersection'"),
    ],
    ids=["solver", "probability", "trials", "cv", "kernel"],
)
def test_what_needs_all_rows_at_once_is_refused(client, digits, learner, message):
    with pytest.raises(InputError, match=message):
        learner.fit(chunked(digits[0], 900), digits[1])


# ---------------------------------------------------------------------------------------------------- maps and indexes


@pytest.mark.process
@pytest.mark.parametrize(
    "map",
    [
        NystroemMap("chi2", n_landmarks=30, random_state=1),
        KernelPCA("js", n_components=5, n_landmarks=40, random_state=1),
        KLSH("js", n_bits=20, n_landmarks=40, random_state=1),
        ProductQuantizer(block_size=8, random_state=1),
        ProductQuantizer(bits=4, random_state=1),
        ConvexReduction(n_dims=20, random_state=1),
        ConvexReduction(n_dims=20, method="convex", random_state=1),
    ],
    ids=lambda map: type(map).__name__,
)
def test_maps_are_those_of_one_process(client, digits, map):
    X = digits[0]
    alone, spread = clone(map).fit(X), clone(map).fit(chunked(X, 400))
    found = spread.transform(chunked(X, 700))
    assert isinstance(found, da.Array)
    assert found.shape == (len(X), alone.transform(X[:1]).shape[1])
    np.testing.assert_array_equal(found.compute(), alone.transform(X))


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize(
    "map",
    [
        HomogeneousMap("chi2"),
        NystroemMap("chi2", n_landmarks=30, random_state=1),
        ProjectedMap(HomogeneousMap("chi2"), n_components=5, random_state=1),
        ProductQuantizer(block_size=8, random_state=1),
        LevelQuantizer(),
        UniversalEmbedding(64, random_state=1),
        SignHash(HomogeneousMap("chi2"), 20, random_state=1),
        ConvexReduction(n_dims=20, method="convex", random_state=1),
    ],
    ids=lambda map: type(map).__name__,
)
def test_maps_keep_the_names_of_columns_of_a_data_frame_as_with_pandas(digits, map):
    names = [f"pixel {i}" for i in range(64)]
    frame = pd.DataFrame(digits[0], columns=names)
    spread = dd.from_pandas(frame, npartitions=3)
    alone, fitted = clone(map).fit(frame), clone(map).fit(spread)
    assert fitted.feature_names_in_.tolist() == alone.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(fitted.transform(spread).compute(), alone.transform(frame))
    np.testing.assert_array_equal(fitted.transform(frame), alone.transform(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(spread[names[::-1]])


@pytest.mark.filterwarnings("error::UserWarning")
def test_columns_without_words_for_names_are_taken_by_position_as_with_pandas(digits):
    spread = dd.from_pandas(pd.DataFrame(digits[0]), npartitions=3)
    fitted = HomogeneousMap("chi2").fit(spread)
    assert not hasattr(fitted, "feature_names_in_")
    np.testing.assert_array_equal(fitted.transform(spread).compute(), fitted.transform(digits[0]))


@pytest.mark.filterwarnings("error::UserWarning")
def test_an_index_keeps_the_names_of_columns_of_a_data_frame(digits):
    frame = pd.DataFrame(digits[0], columns=[f"pixel {i}" for i in range(64)])
    spread = dd.from_pandas(frame, npartitions=3)
    index = KernelIndex("chi2", random_state=0).fit(spread).add(spread)
    assert index.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        index.add(spread[frame.columns.tolist()[::-1]])


@pytest.mark.process
def test_a_large_collection_is_sampled(client, monkeypatch, digits):
    monkeypatch.setattr("mercer._base.tables.sources.rows.FITTED_ROWS", 100)
    X = digits[0]
    spread = NystroemMap("chi2", n_landmarks=30, random_state=1).fit(chunked(X, 400))
    alone = NystroemMap("chi2", n_landmarks=30, random_state=1).fit(open_rows(X).sample(100, 1))
    np.testing.assert_array_equal(spread.landmarks_, alone.landmarks_)


@pytest.mark.process
@pytest.mark.parametrize("pairs", ["all", "uniform", "informative"])
@pytest.mark.parametrize("kernel", ["hellinger", "chi2"])
def test_pairs_of_a_reduction_are_pairs_of_all_rows(client, monkeypatch, digits, kernel, pairs):
    from mercer.kernels import get_kernel
    from mercer.maps.reduction.pair_moments import kernel_moments
    from mercer.maps.reduction.spread_moments import spread_kernel_moments

    monkeypatch.setattr("mercer._base.tables.sources.rows.FITTED_ROWS", 100)  # a sample has so many, and so has a batch
    kernel, X = get_kernel(kernel), digits[0]
    if pairs == "all" and kernel.name == "chi2":
        pairs = "auto"
    alone = kernel_moments(kernel, X, pairs, 300, np.random.RandomState(1))
    spread = spread_kernel_moments(kernel, open_rows(chunked(X, 250)), pairs, 300, np.random.RandomState(1))
    np.testing.assert_allclose(spread.G, alone.G, rtol=1e-12, atol=1e-15 * alone.G.max())
    np.testing.assert_allclose(spread.q, alone.q, rtol=1e-12)
    assert [spread.square, spread.mean] == pytest.approx([alone.square, alone.mean], rel=1e-12)


@pytest.mark.process
def test_an_index_takes_chunks(client, digits):
    X = digits[0].astype("f4")
    alone = KernelIndex("chi2", random_state=0).fit(X).add(X)
    spread = KernelIndex("chi2", random_state=0).fit(chunked(X, 400)).add(chunked(X, 400))
    for one, other in zip(alone.search(X[:20], 5), spread.search(X[:20], 5), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match=r"which is already in the index\. Nothing was added"):
        spread.add(chunked(X[:50], 10), ids=[*range(10_000, 10_049), 3])
    assert len(spread) == len(X)


# ----------------------------------------------------------------------------------------------------- the command line


@pytest.mark.process
def test_the_command_learns_from_parquet_files_on_a_cluster(client, digits, tmp_path):
    pd = pytest.importorskip("pandas")
    from typer.testing import CliRunner

    from mercer import load
    from mercer.cli.app import app

    frame = pd.DataFrame(digits[0]).rename(columns=str).assign(kind=[f"d{label}" for label in digits[1]])
    for i in range(2):
        frame[i::2].to_parquet(tmp_path / f"part{i}.parquet")
    files, out = [str(path) for path in sorted(tmp_path.glob("*.parquet"))], tmp_path / "m.mercer"
    options = ["--label", "kind", "--C", "0.001", "--out", str(out)]
    done = CliRunner().invoke(app, ["fit", *files, *options, "--dask", client.scheduler.address])
    assert done.exit_code == 0, done.output
    assert "on the workers" in done.output
    assert load(out).kernel == "chi2"  # there are no trials on a cluster
    assert load(out).score(digits[0], frame.kind) > 0.95
    for arguments, message in [
        ([*files, *options, "--budget", "5", "--dask", client.scheduler.address], "--budget applies only to automatic"),
        ([*files, *options], "Several Parquet files need --dask"),
        ([str(tmp_path / "no"), *options, "--dask", "local"], "There is no file"),
        ([str(out), *options, "--dask", "local"], "is not a Parquet file"),
    ]:
        failed = CliRunner().invoke(app, ["fit", *arguments])
        assert failed.exit_code != 0
        assert message in str(failed.exception) + failed.output


def test_rows_of_a_frame_without_a_label_are_dropped_and_counted_or_known():
    from mercer import open_rows

    columns = {"a": [1.0, 2.0, None, 4.0, 5.0], "b": [1.0, 2.0, 3.0, 4.0, 5.0]}
    kinds = pd.array(["x", None, "y", "x", "y"], dtype="string")
    frame = dd.from_pandas(pd.DataFrame(columns | {"kind": kinds}), npartitions=2)
    dropped = open_rows(frame, label="kind", missing="drop-rows")
    assert dropped.shape == (3, 2)
    assert dropped.y.tolist() == ["x", "x", "y"]
    assert str(dropped.missing) == "2 rows dropped: 1 missing value in column 'a', 1 without a label"
    filled = open_rows(frame, label="kind", missing="fill:0")
    assert filled.labels[1].tolist() == [False, True, False, False, False]
