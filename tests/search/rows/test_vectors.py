"""Kept rows: what comes back, what is rounded by how much, and what cannot be kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mercer import InputError
from mercer.search.rows.vectors import VectorFormat
from mercer.search.storage.memory import MemoryStorage
from tests.search.index_samples import as_storage, histograms

KINDS = pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])


def kept(X, name, segment_rows=None, blocks=(None,)):
    """(a function that takes rows at positions, whether they are exact) of rows kept in a storage."""
    form = VectorFormat(name, sparse.issparse(X), X.shape[1])
    storage = MemoryStorage(form.columns)
    storage.segment_rows = segment_rows or storage.segment_rows
    exact = []
    for block in np.array_split(np.arange(X.shape[0]), len(blocks)):
        arrays, is_exact = form.pack(X[block], "index")
        exact.append(is_exact)
        with storage.transaction() as transaction:
            transaction.append(arrays)
    return (lambda positions: form.take(storage.snapshot.segments, positions)), exact


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@KINDS
@pytest.mark.parametrize("name", ["float32", "float16", "uint8"])
def test_rows_come_back_in_any_order_from_any_segment(name, is_sparse, rng):
    X = rng.integers(0, 256, (50, 6)).astype(np.float32)
    X[7], X[9, 2:] = 0, 0
    take, exact = kept(as_storage(X, is_sparse), name, segment_rows=8, blocks=range(3))
    assert exact == [True] * 3  # whole numbers up to 255 fit everywhere
    for positions in (np.arange(50), rng.integers(0, 50, 30), np.array([49]), np.array([], dtype=np.int64)):
        rows = take(positions)
        assert (rows.dtype, sparse.issparse(rows)) == (np.float32, is_sparse)
        np.testing.assert_array_equal(dense(rows), X[positions])


@KINDS
@pytest.mark.parametrize(("name", "share"), [("float32", 2.0**-24), ("float16", 2.0**-11), ("uint8", 0.5 / 255)])
def test_rounding_is_that_of_the_type(name, share, is_sparse, rng):
    X = rng.random((40, 5)) * 10.0 ** rng.integers(-2, 3, (40, 1))
    X[:, 1] *= rng.random(40) < 0.5
    take, exact = kept(as_storage(X, is_sparse), name)
    assert exact == [False]
    rows = dense(take(np.arange(40)))
    reach = X.max(axis=1, keepdims=True) if name == "uint8" else X
    assert (abs(rows - X) <= 1.001 * share * reach).all()  # a scale of single precision rounds once more


@KINDS
def test_uint8_keeps_whole_numbers_as_they_are_beside_rows_that_it_rounds(is_sparse):
    X = np.array([[0, 1, 255], [0, 0.5, 0.25], [0, 256, 1], [0, 0, 0]], dtype=np.float32)
    take, exact = kept(as_storage(X, is_sparse), "uint8")
    rows = dense(take(np.arange(4)))
    assert exact == [False]
    np.testing.assert_array_equal(rows[[0, 3]], X[[0, 3]])
    np.testing.assert_allclose(rows, X, atol=0.6)


@KINDS
@given(data=st.data())
def test_no_row_is_too_small_or_too_large_for_uint8(is_sparse, data):
    elements = st.one_of(st.just(0.0), st.floats(0, 2.0**127, width=32))
    X = data.draw(hnp.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=elements))
    take, _ = kept(as_storage(X, is_sparse), "uint8")
    rows = dense(take(np.arange(len(X))))
    # half a step; rows below the normal numbers keep what they can
    step = np.maximum(X.max(axis=1, keepdims=True) / np.float32(255), np.finfo(np.float32).tiny)
    assert (abs(rows - X) <= 0.501 * step).all()


@KINDS
def test_rows_below_the_normal_numbers_become_zero_in_uint8(is_sparse):
    take, _ = kept(as_storage(np.array([[1e-45, 0.0], [1e-40, 3e-41]], dtype=np.float32), is_sparse), "uint8")
    np.testing.assert_array_equal(dense(take(np.arange(2))), 0)


def test_what_a_type_cannot_hold_is_refused_by_name():
    with pytest.raises(
        InputError, match=r"index stores rows as float16, which cannot represent 70000\. Use vectors='float32'"
    ):
        kept(np.array([[1.0, 70000.0]]), "float16")
    with pytest.raises(InputError, match=r"float32, which cannot represent 1e.39"):
        kept(np.array([[1.0, 1e39]]), "float32")
    with pytest.raises(InputError, match="uint8, which needs values >= 0"):
        kept(np.array([[1.0, -1.0]]), "uint8")


@pytest.mark.parametrize(("name", "bytes_per_value"), [("float32", 4), ("float16", 2), ("uint8", 1)])
def test_a_row_takes_the_bytes_that_its_type_says(name, bytes_per_value):
    X = histograms(10, 6)
    arrays, _ = VectorFormat(name, False, 6).pack(X, "index")
    assert arrays["vectors"].nbytes == 10 * 6 * bytes_per_value
    assert sum(array.nbytes for array in arrays.values()) - arrays["vectors"].nbytes == (40 if name == "uint8" else 0)
    of_sparse, _ = VectorFormat(name, True, 6).pack(sparse.csr_array(X), "index")
    assert of_sparse["values"][0].nbytes == np.count_nonzero(X) * bytes_per_value
