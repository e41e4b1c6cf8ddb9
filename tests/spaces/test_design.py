"""Design: rows in the factor space of their inner product."""

import numpy as np
import pytest

from mercer import InputError, thread_limit
from mercer.spaces import BlockFactor, CodeRows, Identity
from mercer.spaces import design as module
from mercer.spaces.design import Design
from tests.pairs import all_pairs
from tests.spaces.samples import make_inners, make_rows


def coded_design(dtype, n=50, seed=0):
    """Codes of blocks with different numbers of words and factors."""
    rng = np.random.default_rng(seed)
    words = rng.integers(1, 40, 21)
    factors = [rng.standard_normal((rng.integers(1, 6), count)).astype(dtype) for count in words]
    codes = (rng.random((n, len(words))) * words).astype(np.uint8)
    return Design(CodeRows(codes, words), BlockFactor(factors))


@pytest.mark.parametrize(
    ("chunk", "dtype", "columns"),
    all_pairs([8192, 16], [np.float32, np.float64], [None, 1, 3, 8, 20]),
)
def test_delayed_expansion_gives_the_products_of_the_expanded_rows(dtype, columns, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    design = coded_design(dtype)
    expanded = design.rows.toarray() @ np.stack([design.inner.project(e) for e in np.eye(design.rows.shape[1])])
    shape = () if columns is None else (columns,)
    rng = np.random.default_rng(1)
    u, slopes = rng.standard_normal((design.shape[1], *shape)), rng.standard_normal((len(design), *shape))
    scores, sums = design.scores(u), design.accumulate(slopes)
    tolerance = {np.float32: 1e-5, np.float64: 1e-13}[dtype]
    assert scores.dtype == sums.dtype == design.dtype == dtype
    np.testing.assert_allclose(scores, expanded @ u, rtol=0, atol=tolerance * 10)
    np.testing.assert_allclose(sums, expanded.T @ slopes, rtol=0, atol=tolerance * 10)


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 64)
    design = coded_design(np.float32, n=1000)
    rng = np.random.default_rng(2)
    u, slopes = rng.standard_normal((design.shape[1], 5)), rng.standard_normal((1000, 5))
    with thread_limit(1):
        expected = design.scores(u), design.accumulate(slopes)
    with thread_limit(2):
        found = design.scores(u), design.accumulate(slopes)
    assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("name", make_inners())
def test_a_design_lifts_scores_and_projects_sums_for_every_inner_product(name):
    inner, _ = make_inners()[name]
    rows, full = make_rows("csr", 20, inner.n_features)
    design = Design(rows, inner)
    F = inner.project(np.eye(inner.n_features))
    rng = np.random.default_rng(3)
    u, slopes = rng.standard_normal((inner.n_factors, 2)), rng.standard_normal((20, 2))
    np.testing.assert_allclose(design.scores(u), full @ F.T @ u, rtol=0, atol=1e-12)
    np.testing.assert_allclose(design.accumulate(slopes), F @ full.T @ slopes, rtol=0, atol=1e-12)


def test_codes_on_disk_are_not_copied_and_give_the_same_bits(tmp_path):
    design = coded_design(np.float32)
    np.save(tmp_path / "codes.npy", design.rows.codes)
    mapped = CodeRows(np.load(tmp_path / "codes.npy", mmap_mode="r"), design.rows.n_words)
    on_disk = Design(mapped, design.inner)
    u = np.random.default_rng(4).standard_normal((design.shape[1], 3))
    assert on_disk._products.transposed is None
    assert np.array_equal(on_disk.scores(u), design.scores(u))


def test_wrong_shapes_are_refused_by_name():
    design = coded_design(np.float64)
    with pytest.raises(InputError, match=r"Design.scores needs shape"):
        design.scores(np.ones(3))
    with pytest.raises(InputError, match="the same number of features"):
        Design(np.ones((2, 3)), Identity(4))
