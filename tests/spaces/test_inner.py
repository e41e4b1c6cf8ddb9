"""Inner products against the full matrix H."""

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer._base.errors import InputError
from mercer._base.threads import thread_limit
from mercer.spaces import (
    BlockDiagonal,
    BlockFactor,
    CodeRows,
    CumulativeSum,
    Factor,
    Identity,
    as_rows,
    block_diag,
    hstack,
)
from tests.spaces.samples import DTYPES, class_shapes, make_inners, make_rows

NAMES = tuple(make_inners())
names = pytest.mark.parametrize("name", NAMES)


def close(actual, expected, dtype=np.float64):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2e-4 if dtype == np.float32 else 1e-12)


@names
def test_the_matrix_is_the_one_it_stands_for(name):
    inner, H = make_inners()[name]
    close(inner.matrix(), H)
    assert inner.n_features == len(H)


@names
@settings(max_examples=20, deadline=None)
@given(tail=class_shapes, dtype=st.sampled_from(DTYPES), seed=st.integers(0, 99))
def test_project_and_lift_are_adjoint_and_compose_to_h(name, tail, dtype, seed):
    inner, H = make_inners(seed)[name]
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((inner.n_features, *tail)).astype(dtype)
    u = rng.standard_normal((inner.n_factors, *tail)).astype(dtype)
    projected, lifted = inner.project(a), inner.lift(u)
    assert projected.shape == u.shape
    assert lifted.shape == a.shape
    assert projected.dtype == lifted.dtype == dtype
    close((projected * u).sum(), (a * lifted).sum(), dtype)
    close(inner.lift(projected), H @ a, dtype)


@names
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gram_and_norms_are_those_of_the_full_matrix(name, kind, dtype):
    inner, H = make_inners()[name]
    left, full_left = make_rows(kind, 8, len(H), dtype, seed=1)
    right, full_right = make_rows(kind, 5, len(H), dtype, seed=2)
    gram = inner.gram(left, right)
    assert gram.dtype == dtype
    close(gram, full_left @ H @ full_right.T, dtype)
    norms = inner.row_norms(left)
    assert norms.dtype == np.float64
    close(norms, np.diag(full_left @ H @ full_left.T), dtype)
    own = inner.gram(left)
    np.testing.assert_array_equal(own, own.T)
    close(own, full_left @ H @ full_left.T, dtype)


@names
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_row_is_added_in_place(name, kind, dtype):
    inner, H = make_inners()[name]
    rows, full = make_rows(kind, 4, len(H), dtype)
    for tail, delta in [((), 0.5), ((3,), np.array([1.0, 0.0, -2.0])), ((3,), 2.0)]:
        start = np.random.default_rng(0).random((len(H), *tail)).astype(dtype)
        v = start.copy()
        inner.add_row(v, rows, 2, delta)
        change = np.multiply.outer(H @ full[2], np.broadcast_to(delta, tail))
        close(v, start + change, dtype)


def test_codes_and_bits_have_gram_matrices_and_norms():
    words = [4, 2, 3]
    F = [np.random.default_rng(m).random((2, count)) for m, count in enumerate(words)]
    codes = CodeRows(np.array([[3, 0, 2], [0, 1, 1]], np.uint8), words)
    bits, _ = make_rows("bits", 2, 11)
    grid, _ = make_inners()["even grid"]
    inner = block_diag(BlockFactor(F), Identity(11), grid)
    rows = hstack(codes, bits, make_rows("csr", 2, grid.n_features)[0])
    full, H = rows.toarray(), inner.matrix()
    close(inner.gram(rows), full @ H @ full.T)
    close(inner.row_norms(rows), np.diag(full @ H @ full.T))
    close(inner.row_norms(full), np.diag(full @ H @ full.T))
    v = np.zeros(len(H))
    inner.add_row(v, rows, 1, 3.0)
    close(v, 3 * H @ full[1])


@pytest.mark.parametrize("words", [[4, 2, 3], [4, 5]])
def test_norms_of_levels_whether_or_not_their_words_are_the_dimensions(words):
    inner = CumulativeSum.of_grids([[0, 1, 5, 7], [2, 3], [0, 4, 9]])
    rows = CodeRows(np.array([[0] * len(words), [count - 1 for count in words]], np.uint8), words)
    full = rows.toarray()
    close(inner.row_norms(rows), np.diag(full @ inner.matrix() @ full.T))


@pytest.mark.parametrize(("words", "repeat"), [([4, 2, 3], 1), ([4, 2, 3, 4, 2, 3], 2), ([4, 5], 1)])
def test_norms_of_codes_whether_or_not_their_words_are_the_blocks(words, repeat):
    F = [np.random.default_rng(m).random((2, count)).astype(np.float32) for m, count in enumerate([4, 2, 3])]
    inner = BlockFactor(F, repeat)
    rows = CodeRows(np.array([[0] * len(words), [count - 1 for count in words]], np.uint8), words)
    full = rows.toarray()
    close(inner.row_norms(rows), np.diag(full @ inner.matrix() @ full.T))


@names
def test_results_have_the_same_bits_on_one_and_two_threads(name):
    inner, H = make_inners()[name]
    rows, _ = make_rows("csr", 3000, len(H), np.float32)
    a = np.random.default_rng(0).standard_normal((len(H), 300))
    results = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            results.append([inner.project(a), inner.lift(inner.project(a)), inner.row_norms(rows)])
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@names
def test_gram_in_little_memory_is_the_same(name):
    inner, H = make_inners()[name]
    rows, full = make_rows("csr", 30, len(H))
    with sklearn.config_context(working_memory=1e-3):  # a kilobyte: one row at a time
        close(inner.gram(rows), full @ H @ full.T)
        close(inner.row_norms(full), np.diag(full @ H @ full.T))


@names
def test_inner_products_survive_a_pickle_and_their_parameters(name):
    inner, H = make_inners()[name]
    close(pickle.loads(pickle.dumps(inner)).matrix(), H)
    close(type(inner)(**inner.get_params(deep=False)).matrix(), H)


@pytest.mark.parametrize("inner_class", [Identity, CumulativeSum, BlockFactor, Factor, BlockDiagonal])
def test_inner_products_can_be_saved(inner_class, tmp_path):
    for inner, H in make_inners().values():
        if type(inner) is inner_class:
            mercer.save(inner, tmp_path / "inner.mercer")
            for mmap in (False, True):
                loaded = mercer.load(tmp_path / "inner.mercer", mmap=mmap)
                np.testing.assert_array_equal(loaded.matrix(), inner.matrix())
                close(loaded.row_norms(np.eye(len(H))), np.diag(H))


def test_a_shared_factor_is_kept_once():
    F = np.random.default_rng(0).random((1, 20, 20))
    inner = BlockFactor(F, repeat=10_000)
    assert inner.n_features == inner.n_factors == 200_000
    assert len(pickle.dumps(inner)) < 2 * F.nbytes + 1000
    v = np.zeros(inner.n_features)
    inner.add_row(v, CodeRows(np.full((1, 10_000), 3, np.uint8), 20), 0, 1.0)
    close(v.reshape(-1, 20), np.tile(F[0].T @ F[0][:, 3], (10_000, 1)))


def test_a_grid_that_starts_at_zero_gives_its_first_point_no_weight():
    inner = CumulativeSum.of_grids([[0.0, 0.5]])
    close(inner.matrix(), [[0, 0], [0, 0.5]])
    close(inner.row_norms(np.array([[3.0, 0.0]])), [0.0])


def test_the_factor_of_a_zero_matrix_has_no_directions():
    inner = Factor.of_gram(np.zeros((3, 3)))
    assert inner.n_factors == 0
    close(inner.row_norms(np.ones((2, 3))), [0, 0])
    close(inner.lift(inner.project(np.ones((3, 2)))), np.zeros((3, 2)))


def test_a_rank_revealing_factor_leaves_out_what_the_tolerance_says():
    K = np.diag([1.0, 1e-4, 1e-9])
    assert Factor.of_gram(K).n_factors == 3
    assert Factor.of_gram(K, rtol=1e-6).n_factors == 2


def test_block_diagonals_are_flat_and_know_their_slices():
    inner = block_diag(block_diag(Identity(2), Identity(3)), Factor(np.ones((1, 4))))
    assert inner.slices == (slice(0, 2), slice(2, 5), slice(5, 9))
    assert inner.n_factors == 6
    assert isinstance(block_diag(Identity(2)), Identity)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Identity(-1), ">= 0, got -1"),
        (lambda: CumulativeSum([0.1, 0.2]), "shape .dimensions, points., or starts"),
        (lambda: CumulativeSum([0.1, 0.2], [0, 1]), "from 0 to the number of gaps, 2"),
        (lambda: CumulativeSum([0.1, 0.2], [0, 3, 2]), "ascend from 0"),
        (lambda: CumulativeSum.of_grids([[0.5, 0.2]]), "gaps >= 0"),
        (lambda: CumulativeSum([[np.inf]]), "finite"),
        (lambda: BlockFactor(np.ones((2, 3))), "shape .blocks, r, P."),
        (lambda: BlockFactor([]), "BlockFactor needs factors"),
        (lambda: BlockFactor(np.ones((1, 2, 3)), repeat=0), "repeat >= 1; got 0"),
        (lambda: Factor(np.ones(3)), "shape .factors, features., got .3,."),
        (lambda: block_diag(), "one or more inner products"),
        (lambda: block_diag(Identity(2), np.eye(2)), "inner products"),
        (lambda: Identity(3).project(np.ones(2)), "project needs an array of shape .3,. or .3, classes., got .2,."),
        (lambda: Factor(np.ones((2, 3))).lift(np.ones(3)), "lift needs an array of shape .2,."),
        (lambda: Identity(3).gram(np.ones((2, 2))), "rows of 3 features, got rows of shape .2, 2."),
        (lambda: Identity(3).add_row(np.ones(2), as_rows(np.ones((1, 3))), 0, 1.0), "v of shape .3,."),
    ],
)
def test_what_does_not_fit_is_refused_in_words(make, message):
    with pytest.raises(InputError, match=message):
        make()
