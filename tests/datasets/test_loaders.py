"""Data sets: what the loaders give, and what they say about files that are missing or not the ones they know."""

import bz2
import gzip
import hashlib

import numpy as np
import pytest

from mercer import InputError
from mercer.datasets import _files, load_massbank, load_pendigits, load_sift
from mercer.datasets._sift import read_vectors


@pytest.mark.data
def test_sift_has_its_rows_and_its_own_ground_truth(data_dir):
    base, query, neighbours = (load_sift(part) for part in ("base", "query", "neighbours"))
    assert base.shape == (10_000, 128)
    assert base.dtype == np.float32
    assert (base.min(), base.max()) == (0, 180)
    distances = ((base[None, :, :] - query[:5, None, :]) ** 2).sum(axis=2)
    found = np.sort(distances, axis=1)[:, :100]
    np.testing.assert_array_equal(np.take_along_axis(distances, neighbours[:5], axis=1), found)
    assert load_sift("learn", root=data_dir).shape == (25_000, 128)
    assert not (load_sift("more-base") == base).all(axis=1).any()
    np.testing.assert_array_equal(load_sift("more-query")[:100], query)


@pytest.mark.data
def test_spectra_are_sparse_and_keep_their_intensity(data_dir):
    spectra = load_massbank()
    assert spectra.data.shape == (54_791, 20_000)
    assert spectra.data.has_canonical_format
    assert spectra.data.dtype == np.float32
    assert len(set(spectra.compound)) == 5_776
    assert np.diff(spectra.data.indptr).max() <= 60
    coarse = load_massbank(bin_width=1.0)
    assert coarse.data.shape[1] == 2000
    np.testing.assert_array_equal(coarse.data.sum(axis=1), spectra.data.sum(axis=1))
    # ten fine bins make a coarse one
    row = spectra.data[[7]].toarray().reshape(2000, 10).sum(axis=1)
    np.testing.assert_array_equal(row, coarse.data[[7]].toarray()[0])


@pytest.mark.data
def test_pendigits_have_the_published_sizes(data_dir):
    X, y = load_pendigits()
    assert X.shape == (7494, 16)
    assert X.dtype == np.float32
    assert set(y) == set(range(10))
    assert (X.min(), X.max()) == (0, 100)
    assert X[0, :4].tolist() == [47, 100, 27, 81]
    assert load_pendigits("test")[0].shape == (3498, 16)


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_files_may_be_packed(tmp_path, suffix):
    content = b"some numbers"
    (tmp_path / "set").mkdir()
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    (tmp_path / "set" / f"rows{suffix}").write_bytes(pack(content))
    checksum = hashlib.sha256(content).hexdigest()
    assert _files.verified_bytes("set", "rows", checksum, "somewhere", tmp_path) == content
    with pytest.raises(InputError, match=r"not the file that is known by this name.*from somewhere"):
        _files.verified_bytes("set", "rows", "0" * 64, "somewhere", tmp_path)


def test_a_missing_file_is_named_with_its_official_place(tmp_path, monkeypatch):
    for load, place in (
        (load_sift, "corpus-texmex"),
        (load_massbank, "MassBank-data"),
        (load_pendigits, "libsvmtools"),
    ):
        with pytest.raises(InputError, match=rf"There is no .*{place}.*MERCER_DATA"):
            load(root=tmp_path)
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="There is no siftsmall_base"):
        load_sift()


def test_damaged_and_unknown_parts_are_refused(tmp_path):
    (tmp_path / "pendigits").mkdir()
    (tmp_path / "pendigits" / "pendigits.bz2").write_bytes(bz2.compress(b"8 1:47\n")[:20])
    with pytest.raises(InputError, match="cannot be read"):
        load_pendigits(root=tmp_path)
    with pytest.raises(InputError, match="no part 'valid'"):
        load_pendigits("valid")
    with pytest.raises(InputError, match="no part 'test'"):
        load_sift("test")
    with pytest.raises(InputError, match="bin_width"):
        load_massbank(0)


def test_vectors_are_read_as_their_header_says():
    rows = np.array([[3, 1.5, -2.0, 4.0], [3, 0.0, 8.0, 1.0]], dtype="<f4")
    rows[:, :1].view("<i4")[:] = 3
    np.testing.assert_array_equal(read_vectors(rows.tobytes(), "x.fvecs", 2, 3), rows[:, 1:])
    with pytest.raises(InputError, match=r"x\.fvecs should hold 2 rows of 4 numbers"):
        read_vectors(rows.tobytes(), "x.fvecs", 2, 4)
