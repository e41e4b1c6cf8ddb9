"""Data sets: what the loaders give, and what they say about files that are missing or not the ones they know."""

import bz2
import gzip
import hashlib

import numpy as np
import pytest

from mercer import InputError, datasets
from mercer.datasets import files as _files
from mercer.datasets import load_massbank, load_pendigits, load_sift
from mercer.datasets.catalogue import CATALOGUE
from mercer.datasets.counts import kos as _kos
from mercer.datasets.images import sift as _sift
from mercer.datasets.images.fashion_mnist import read_idx
from mercer.datasets.tables import covtype as _covtype
from mercer.features import bin_spectra

PLACES = {
    "load_20newsgroups": "20Newsgroups",
    "load_adult": "tick-datasets",
    "load_covtype": "archive.ics.uci.edu",
    "load_fashion_mnist": "zalandoresearch",
    "load_ijcnn1": "tick-datasets",
    "load_kos": "archive.ics.uci.edu",
    "load_massbank": "MassBank-data",
    "load_microbiome": "MLRepo",
    "load_molecules": "moleculenet",
    "load_pendigits": "libsvmtools",
    "load_scenes_sift": "Scene-Recognition",
    "load_sector": "libsvmtools",
    "load_shuttle": "archive.ics.uci.edu",
    "load_sift": "corpus-texmex",
}


@pytest.mark.data
def test_sift_has_its_rows_and_its_own_ground_truth(data_dir):
    base, query, neighbours = (load_sift(part) for part in ("base", "query", "neighbors"))
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
@pytest.mark.process
def test_spectra_are_sparse_and_keep_their_intensity(data_dir):
    spectra = load_massbank()
    assert spectra.data.shape == (54_791, 20_000)
    assert spectra.data.has_canonical_format
    assert spectra.data.dtype == np.float32
    assert len(set(spectra.compound)) == 5_776
    assert np.diff(spectra.data.indptr).max() <= 60
    coarse = load_massbank(bin_width=1.0)
    assert coarse.data.indices.dtype == np.int32  # SVC and trees take no others
    assert coarse.data.shape[1] == 2000
    np.testing.assert_array_equal(coarse.data.sum(axis=1), spectra.data.sum(axis=1))
    # ten fine bins make a coarse one
    row = spectra.data[[7]].toarray().reshape(2000, 10).sum(axis=1)
    np.testing.assert_array_equal(row, coarse.data[[7]].toarray()[0])
    # the peaks are those that were binned: 54,000 lists, of which every hundredth is put into bins again
    some = np.arange(0, 54_791, 100)
    peaks = [slice(*spectra.offsets[i : i + 2]) for i in some]
    again = bin_spectra([np.column_stack([spectra.mz[part], spectra.intensity[part]]) for part in peaks], 1.0)
    np.testing.assert_allclose(again.sum(axis=1), spectra.data[some].sum(axis=1))
    assert abs(again - coarse.data[some]).max() == 0


@pytest.mark.data
@pytest.mark.process
def test_molecules_have_the_published_counts(data_dir):
    molecules = datasets.load_molecules()
    assert (len(molecules.smiles), int(molecules.active.sum())) == (41_127, 1_443)
    assert molecules.smiles[2] == "CC(=O)N1c2ccccc2Sc2c1ccc1ccccc21"


@pytest.mark.data
@pytest.mark.process
def test_samples_of_bacteria_stand_beside_their_diagnosis(data_dir):
    ileum = datasets.load_microbiome()
    assert (ileum.data.shape, (ileum.target == "CD").sum()) == ((140, 992), 78)
    everybody = datasets.load_microbiome("gevers")
    assert everybody.target is None
    place = everybody.sample.tolist().index(ileum.sample[3])
    np.testing.assert_array_equal(ileum.data[3], everybody.data[place])
    stool = datasets.load_microbiome("qin2014")
    # the names of the samples say it too: HD are healthy, LD have a disease of the liver
    assert (np.char.startswith(stool.sample, "LD") == (stool.target == "Cirrhosis")).all()
    assert stool.data[stool.sample.tolist().index("LD.73"), 0] == 772_362


def test_made_up_rows_have_the_form_of_real_ones():
    spectra = datasets.make_spectra(20)
    assert spectra.data.shape == (len(spectra.compound), 20_000)
    assert len(spectra.mz) == len(spectra.intensity) == spectra.offsets[-1]
    assert (np.diff(spectra.offsets) >= np.diff(spectra.data.indptr)).all()
    np.testing.assert_allclose(np.add.reduceat(spectra.intensity, spectra.offsets[:-1]), spectra.data.sum(axis=1))
    fingerprints = datasets.make_fingerprints(200)
    assert (fingerprints.data.shape, fingerprints.active.sum()) == ((200, 2048), 20)
    samples = datasets.make_compositions(30)
    assert (samples.data.shape, (samples.target == "ill").sum()) == ((30, 400), 15)
    for make in (datasets.make_spectra, datasets.make_fingerprints, datasets.make_compositions):
        first, second = make(20, random_state=3), make(20, random_state=3)
        assert abs(first.data - second.data).max() == 0


@pytest.mark.data
def test_pendigits_have_the_published_sizes(data_dir):
    X, y = load_pendigits()
    assert X.shape == (7494, 16)
    assert X.dtype == np.float32
    assert set(y) == set(range(10))
    assert (X.min(), X.max()) == (0, 100)
    assert X[0, :4].tolist() == [47, 100, 27, 81]
    assert load_pendigits("test")[0].shape == (3498, 16)


@pytest.mark.data
@pytest.mark.process
def test_covtype_has_the_published_counts(data_dir):
    X, y = datasets.load_covtype("all")
    assert X.shape == (581_012, 54)
    assert X.dtype == np.float32
    assert X[0, :10].tolist() == [2596, 51, 3, 258, 0, 510, 221, 232, 148, 6279]
    assert np.bincount(y).tolist() == [0, 211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
    for one_of in (slice(10, 14), slice(14, 54)):  # wilderness areas, types of soil
        assert (X[:, one_of].sum(axis=1) == 1).all()


def test_the_parts_of_covtype_are_the_whole(monkeypatch):
    numbers = np.arange(_covtype.N_ROWS)
    monkeypatch.setattr(_covtype, "N_FEATURES", 1)
    monkeypatch.setattr(_covtype, "verified_bytes", lambda *unused: b"")
    monkeypatch.setattr(_covtype, "_read_table", lambda *unused: np.column_stack([-numbers, numbers]))
    parts = [datasets.load_covtype(part) for part in ("train", "test")]
    assert [len(y) for _, y in parts] == [500_000, 81_012]
    np.testing.assert_array_equal(np.sort(np.concatenate([y for _, y in parts])), numbers)
    for X, y in parts:
        np.testing.assert_array_equal(X[:, 0], -y)
    assert [y[:3].tolist() for _, y in parts] == [
        [215988, 424155, 274437],
        [379256, 226843, 201040],
    ]  # published results depend on it


@pytest.mark.data
@pytest.mark.process
def test_newsgroups_are_counts_with_the_names_of_their_groups(data_dir):
    X, y = datasets.load_20newsgroups()
    assert X.shape == (11_293, 42_254)
    assert (X.nnz, X.dtype, X.has_canonical_format) == (1_483_225, np.float32, True)
    assert (X.data >= 1).all()
    np.testing.assert_array_equal(X.data, np.rint(X.data))
    assert len(set(y)) == 20
    assert y[0] == "alt.atheism"
    assert datasets.load_20newsgroups("test")[0].nnz == 953_608


@pytest.mark.data
@pytest.mark.process
def test_sector_has_rows_of_length_one(data_dir):
    X, y = datasets.load_sector("test")
    assert X.shape == (3_207, 55_197)
    assert (X.indices.dtype, X.indptr.dtype, X.has_canonical_format) == (np.int32, np.int32, True)
    assert set(y) == set(range(1, 106))
    np.testing.assert_allclose(X.multiply(X).sum(axis=1), 1, atol=1e-4)  # five digits are written in the file


@pytest.mark.data
@pytest.mark.process
def test_small_classics_have_the_published_counts(data_dir):
    X, y = datasets.load_ijcnn1()
    assert (X.shape, (y == 1).sum()) == ((49_990, 22), 4_853)
    X, y = datasets.load_adult("test")
    assert (X.shape, (y == 1).sum(), set(X.data)) == ((16_281, 123), 3_846, {1})
    X, y = datasets.load_shuttle()
    assert (X.shape, np.bincount(y)[1:].tolist()) == ((43_500, 9), [34_108, 37, 132, 6_748, 2_458, 6, 11])
    assert X[0].tolist() == [50, 21, 77, 0, 28, 0, 27, 48, 22]


@pytest.mark.data
def test_fashion_mnist_has_a_thousand_pictures_of_each_kind(data_dir):
    try:
        X, y = datasets.load_fashion_mnist("test")
    except InputError:
        pytest.skip("neither MERCER_DATA nor Debian's dataset-fashion-mnist has the files")
    assert X.shape == (10_000, 784)
    assert (X.min(), X.max()) == (0, 255)
    assert np.bincount(y).tolist() == [1000] * 10
    # an ankle boot: the picture is black at the top, so rows and columns are not mixed up
    assert y[0] == 9
    picture = X[0].reshape(28, 28)
    assert picture[:7].sum() == 0
    assert picture[14:21].sum() > 20_000


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2"])
def test_files_may_be_packed(tmp_path, suffix):
    content = b"some numbers"
    (tmp_path / "set").mkdir()
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[suffix]
    (tmp_path / "set" / f"rows{suffix}").write_bytes(pack(content))
    checksum = hashlib.sha256(content).hexdigest()
    assert _files.verified_bytes("set", "rows", checksum, "somewhere", tmp_path) == content
    with pytest.raises(InputError, match=r"not the expected file.*from somewhere"):
        _files.verified_bytes("set", "rows", "0" * 64, "somewhere", tmp_path)


def test_every_loader_has_its_place_in_these_tests():
    assert sorted(PLACES) == sorted(name for name in datasets.__all__ if name.startswith("load_"))
    assert sorted(PLACES) == sorted(known.loader for known in CATALOGUE.values())


@pytest.mark.parametrize("name", PLACES)
def test_a_missing_file_is_named_with_its_official_place(name, tmp_path):
    with pytest.raises(InputError, match=rf"There is no .*{PLACES[name]}.*MERCER_DATA"):
        getattr(datasets, name)(root=tmp_path)


def test_files_are_looked_for_where_one_stands_when_nothing_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="There is no siftsmall_base"):
        load_sift()


def test_damaged_and_unknown_parts_are_refused(tmp_path):
    (tmp_path / "pendigits").mkdir()
    (tmp_path / "pendigits" / "pendigits.bz2").write_bytes(bz2.compress(b"8 1:47\n")[:20])
    with pytest.raises(InputError, match="cannot be read"):
        load_pendigits(root=tmp_path)
    for name in set(PLACES) - {"load_kos", "load_massbank", "load_molecules"}:
        with pytest.raises(InputError, match=rf"{name} has no part 'valid'\. Parts: "):
            getattr(datasets, name)("valid")
    with pytest.raises(InputError, match="bin_width"):
        load_massbank(0)


def test_vectors_of_another_size_are_refused(monkeypatch):
    monkeypatch.setattr(_sift, "verified_bytes", lambda *unused: (1).to_bytes(4, "little") + bytes(4))
    with pytest.raises(InputError, match=r"siftsmall_query\.fvecs must contain 100 rows of 128 numbers.*\(1, 1\)"):
        load_sift("query")


def test_bags_of_words_are_read_as_counts():
    content = b"2\n4\n3\n1 2 5\n2 4 1\n2 1 7\n"
    X = _kos.read_bag_of_words(content, "x", (2, 4, 3))
    assert X.toarray().tolist() == [[0, 5, 0, 0], [7, 0, 0, 1]]
    assert X.has_sorted_indices
    for sizes in ((3, 4, 3), (2, 4, 2)):
        with pytest.raises(InputError, match="x must contain"):
            _kos.read_bag_of_words(content, "x", sizes)
    with pytest.raises(InputError, match="x must contain"):
        _kos.read_bag_of_words(content[:-6], "x", (2, 4, 3))


@pytest.mark.data
def test_kos_has_the_published_counts(data_dir):
    X = datasets.load_kos()
    assert (X.shape, X.nnz, X.sum()) == ((3_430, 6_906), 353_160, 467_714)
    assert (X.dtype, X.has_canonical_format, X.data.min()) == (np.float32, True, 1)


@pytest.mark.data
@pytest.mark.parametrize("name", ["adult", "kos", "massbank", "microbiome", "pendigits", "shuttle", "sift"])
def test_the_catalogue_gives_the_sizes_that_are_loaded(data_dir, name):
    known = CATALOGUE[name]
    for part, size in known.parts.items():
        assert known.is_found(part, data_dir)
        loaded = getattr(datasets, known.loader)(*([part] if part else []), root=data_dir)
        X = loaded.data if name in ("massbank", "microbiome") else loaded[0] if isinstance(loaded, tuple) else loaded
        assert X.shape == (size.n_rows, size.n_columns)


def test_pictures_are_read_as_their_header_says():
    content = bytes([0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(6))
    assert read_idx(content, (2, 3), "x").tolist() == [[0, 1, 2], [3, 4, 5]]
    for shape in ((3, 2), (2, 4), (6,)):
        with pytest.raises(InputError, match=r"x must contain .* bytes in the idx format"):
            read_idx(content, shape, "x")


def test_a_table_of_another_size_is_refused():
    with pytest.raises(InputError, match=r"covtype\.data must contain 581012 rows of 55 numbers"):
        _covtype._read_table(b"1,2,3\n4,5,6\n", "covtype.data")
