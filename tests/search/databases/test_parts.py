"""What all stores share: rows as bytes, the embedding as an artifact, its fingerprint, the description of a table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError, KernelPCA, ModelFileError
from mercer._base.errors import MissingExtraError
from mercer.search.databases.artefact import artefact, embedded, fingerprint, from_artefact
from mercer.search.databases.layout import Layout
from mercer.search.databases.row_bytes import as_bytes, from_bytes
from mercer.search.rows.vectors import VectorFormat
from tests.search.index_samples import histograms, index

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(60)


@given(
    name=st.sampled_from(["float32", "float16", "uint8"]),
    is_sparse=st.booleans(),
    counts=st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), max_size=6),
)
def test_rows_come_back_from_their_bytes(name, is_sparse, counts):
    rows = np.array(counts, dtype=np.float32).reshape(-1, 5)
    vectors = VectorFormat(name, is_sparse, 5)
    given_rows = sparse.csr_array(rows) if is_sparse else rows
    packed, exact = vectors.pack(given_rows, "a test")
    assert exact
    back = from_bytes(vectors, as_bytes(vectors, packed), "a test")
    assert sparse.issparse(back) == is_sparse
    np.testing.assert_array_equal(back.toarray() if is_sparse else back, rows)


@pytest.mark.parametrize("name", ["float32", "uint8"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_bytes_that_are_no_rows_are_refused(name, is_sparse):
    vectors = VectorFormat(name, is_sparse, 5)
    outside = np.array([1], dtype="<f4").tobytes()[: 4 * (name == "uint8")] + np.array([5], dtype="<i4").tobytes()
    for data in (b"abc", outside + np.ones(1, dtype=name).tobytes() if is_sparse else b"x" * 23):
        with pytest.raises(InputError, match=r"the table holds rows that were changed by another program"):
            from_bytes(vectors, [data], "the table")


def test_the_fingerprint_is_that_of_the_embedding_and_of_nothing_else():
    model = index(X).model_
    copy = from_artefact(artefact(model), "a test")
    copy.set_params(n_jobs=2)
    copy.embedding_.set_params(n_jobs=2)
    assert fingerprint(copy) == fingerprint(model)
    np.testing.assert_array_equal(embedded(copy, X), embedded(model, X))
    assert fingerprint(index(X, bytes_per_item=2).model_) == fingerprint(model)  # another code, the same embedding
    others = [index(X[:50]), index(X, n_components=11), index(X, normalize=False), index(X, "js")]
    prints = {fingerprint(other.model_) for other in others}
    assert len(prints) == 4
    assert fingerprint(model) not in prints


def test_an_artefact_that_was_changed_is_refused():
    data = bytearray(artefact(index(X).model_))
    data[len(data) // 2] ^= 1
    with pytest.raises(ModelFileError, match=r"damaged|checksum"):
        from_artefact(bytes(data), "the table")
    other = artefact(KernelPCA("chi2", n_components=3, n_landmarks=20).fit(X))
    with pytest.raises(InputError, match=r"the table contains KernelPCA instead of the model of an index"):
        from_artefact(other, "the table")


def test_a_description_of_a_later_version_is_refused():
    document = Layout("shop", 8, "inner product", "numbers", 10).document()
    assert Layout.of_document(document, "the table").document() == document
    with pytest.raises(InputError, match=r"the table was written in format 2; this version of Mercer reads format 1"):
        Layout.of_document(document | {"format": 2}, "the table")
    with pytest.raises(InputError, match=r"a description that was not written by Mercer"):
        Layout.of_document(document | {"more": 2}, "the table")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "ivf"}, "`method` must be one of 'hnsw', 'exact'"),
        ({"dtype": "int8"}, "`dtype` must be one of 'float32', 'float16'"),
        ({"m": 1}, "`m` must be an integer >= 2 and <= 100; got 1"),
        ({"m": 40, "ef_construction": 64}, "needs ef_construction >= 2 m"),
        ({"row_column": "id"}, "three different columns"),
        ({"id_column": ""}, "must have a name; got ''"),
    ],
)
def test_parameters_of_a_push_are_checked_before_anything_is_sent(parameters, message):
    with pytest.raises(InputError, match=message):
        index(X).push("postgresql://nowhere.invalid/db", "shop", **parameters)


@pytest.mark.parametrize(
    ("place", "module", "extra"),
    [("postgresql://host/db", "psycopg", "pgvector"), ("milvus://x.db", "pymilvus", "milvus")],
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, place, module, extra):
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"needs the package '{module}'.*pip install 'mercer\[{extra}\]'"):
        index(X).push(place, "shop")
