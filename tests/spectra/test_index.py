"""Libraries of spectra: exact against all pairs, the same in a directory, whatever is in its files."""

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import InputError, KernelIndex, MercerError
from mercer.spectra import Spectra, SpectrumIndex, clean_spectra, spectral_similarity
from mercer.spectra.index import blocks as _blocks

SETTINGS = [
    {}, {"similarity": "unweighted", "tolerance": 20.0, "unit": "ppm"}, {"similarity": "cosine", "power": 0.5},
    {"similarity": "cosine", "tolerance": 0.3, "noise": 0.0, "merge": 0.0, "precursor_window": "none"},
    {"tolerance": 0.3, "merge": 0.0, "max_peaks": 6},
]  # fmt: skip


def library(n=120, seed=0):
    """Spectra whose peaks come from few masses, with families of analogues; some without peaks or precursors."""
    rng = np.random.default_rng(seed)
    masses = np.sort(rng.uniform(50, 400, 60))
    peaks, precursor = [], []
    for row in range(n):
        chosen = rng.choice(masses, rng.integers(0, 12), replace=False) + 14.01565 * (rng.random() < 0.3)
        peaks.append(np.column_stack([chosen + rng.normal(0, 0.004, len(chosen)), rng.gamma(0.6, 50, len(chosen))]))
        precursor.append(None if row % 11 == 3 else float(rng.choice([300.0, 314.0156, 420.5])))
    mode = [("positive", "negative", None)[row % 3] for row in range(n)]
    return Spectra.from_peaks(peaks, name=[f"s{row}" for row in range(n)], ion_mode=mode, precursor_mz=precursor)


def by_all_pairs(spectra, query, k, mode, least=1e-12, allowed=None, least_matched=1, **parameters):
    """(ids, scores, matched peaks) of a query, from spectral_similarity with every row."""
    repeated = spectra[np.full(len(spectra), query)]
    scores, matched = spectral_similarity(repeated, spectra, mode="open" if mode == "identity" else mode, **parameters)
    difference = np.abs(spectra.precursor_mz - spectra.precursor_mz[query])
    wrong = {"open": False, "identity": ~(difference <= 0.01)}.get(mode, np.isnan(difference))
    good = (scores >= least) & (matched >= least_matched) & ~np.broadcast_to(wrong, scores.shape)
    good &= True if allowed is None else allowed
    order = np.lexsort((np.arange(len(scores)), -scores.round(6)))
    order = order[good[order]][:k]
    return order, scores[order], matched[order]


@pytest.mark.parametrize("parameters", SETTINGS)
@pytest.mark.parametrize("mode", ["open", "identity", "loss", "hybrid"])
def test_a_search_finds_what_all_pairs_find(parameters, mode, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 50)  # three blocks, the last one not full
    spectra = library()
    similarity = parameters.get("similarity", "entropy")
    index = SpectrumIndex(similarity, **{name: each for name, each in parameters.items() if name != "similarity"})
    index.add(spectra[:70]).add(spectra[70:])
    hits = index.search(spectra[:40], 8, mode=mode)
    assert len(hits.ids) > 60
    for query in range(40):
        ids, scores, matched = hits.of(query)
        wanted = by_all_pairs(spectra, query, 8, mode, **parameters)
        np.testing.assert_allclose(scores, wanted[1], atol=1e-6)  # the index keeps intensities in single precision
        clear = np.abs(wanted[1][:, None] - wanted[1][None]) + np.eye(len(ids)) > 1e-6
        alone = clear.all(axis=1) & (np.arange(len(ids)) < len(ids) - 1)  # ranks that rounding cannot change
        np.testing.assert_array_equal(ids[alone], wanted[0][alone])
        np.testing.assert_array_equal(matched[alone], wanted[2][alone])


def test_conditions_scores_and_matched_peaks_limit_what_is_found():
    spectra = library()
    index = SpectrumIndex().add(spectra)
    positive = np.array([mode == "positive" for mode in spectra.column("ion_mode")])
    for where in ("ion_mode = 'positive'", {"ion_mode": "positive"}):
        hits = index.search(spectra[:20], None, min_score=0.2, min_matched_peaks=3, where=where)
        for query in range(20):
            wanted = by_all_pairs(spectra, query, None, "open", 0.2, positive, 3)
            assert sorted(hits.of(query)[0]) == sorted(wanted[0])
    few = index.search(spectra[:20], 3, where="name in ('s4', 's5')")  # so few that they are matched one by one
    assert set(few.ids) <= {4, 5}
    table = hits.table()
    assert table["rank"][0] == 1
    assert {len(values) for values in table.values()} == {len(hits.ids)}
    assert set(index.search(spectra[:3], 3, where="precursor_mz > 400").ids) <= set(
        np.flatnonzero(spectra.precursor_mz > 400)
    )


def test_all_pairs_are_those_of_searches():
    spectra = library(80)
    index = SpectrumIndex().add(spectra)
    first, second, scores, matched = index.pairs(0.4, mode="hybrid", min_matched_peaks=2)
    assert len(first) > 10
    wanted = {(a, b) for a in range(80) for b in by_all_pairs(spectra, a, None, "hybrid", 0.4, None, 2)[0] if b > a}
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == wanted
    assert (np.diff(first) >= 0).all()
    assert matched.min() >= 2
    assert scores.min() >= 0.4


def test_scans_of_the_first_level_are_left_out_and_library_records_of_it_are_not():
    spectra = Spectra.from_peaks([[[50, 1]]] * 3, ms_level=[1, 1, 2], name=[None, "EI spectrum", None])
    assert len(SpectrumIndex().add(spectra)) == 2


def test_a_directory_holds_what_memory_held_and_is_added_to(tmp_path, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 32)
    spectra = library()
    whole = SpectrumIndex(tolerance=0.03).add(spectra)
    with SpectrumIndex(tolerance=0.03).add(spectra[:50]).persist(tmp_path / "index") as index:
        index.add(spectra[50:90])
    with SpectrumIndex.open(tmp_path / "index", "w") as index:
        index.add(spectra[90:])
        assert len(list((tmp_path / "index").glob("generation-*/derived-*.peaks"))) == 3
    for verify in (True, False):
        with SpectrumIndex.open(tmp_path / "index", verify=verify) as index:
            assert index.settings == whole.settings
            for mode in ("open", "hybrid"):
                found, wanted = (each.search(spectra[:30], 5, mode=mode) for each in (index, whole))
                for name in ("ids", "scores", "matched_peaks", "offsets"):
                    np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
                assert found.columns == wanted.columns
            with pytest.raises(InputError, match="mode='w'"):
                index.add(spectra[:1])


def test_a_damaged_file_of_sorted_peaks_is_named_and_can_be_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_ROWS", 16)
    spectra = library(40)
    SpectrumIndex().add(spectra).persist(tmp_path / "index").close()
    path = min((tmp_path / "index").glob("generation-1/derived-*.peaks"))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(match=f"{path.name}.*Delete it"):
        SpectrumIndex.open(tmp_path / "index")
    path.unlink()
    with SpectrumIndex.open(tmp_path / "index") as index:
        np.testing.assert_array_equal(index.search(spectra).ids, SpectrumIndex().add(spectra).search(spectra).ids)


def test_a_library_spectrum_has_its_columns_and_its_prepared_peaks():
    spectra = library(5)
    index = SpectrumIndex("unweighted", noise=0.0, merge=0.0, precursor_window="none").add(spectra[:2]).add(spectra[2:])
    for number in range(5):
        found, given = index.spectrum(number), spectra[number]
        assert found.metadata == given.metadata
        np.testing.assert_array_equal(found.mz, given.mz)
        np.testing.assert_allclose(found.intensity, given.intensity / given.intensity.sum(), rtol=1e-6)
    with pytest.raises(InputError, match="spectra 0 to 4"):
        index.spectrum(5)


def test_an_index_of_another_kind_is_refused_by_name(tmp_path):
    KernelIndex("linear", store="codes", bytes_per_item=1, n_components=2).fit(np.eye(3)).persist(tmp_path / "rows")
    with pytest.raises(InputError, match=r"is an index of rows. Open it with mercer.KernelIndex.open"):
        SpectrumIndex.open(tmp_path / "rows")
    SpectrumIndex().add(library(5)).persist(tmp_path / "spectra")
    with pytest.raises(InputError, match=r"is an index of spectra. Open it with mercer.spectra.SpectrumIndex.open"):
        KernelIndex.open(tmp_path / "spectra")
    with pytest.raises(InputError, match="already holds an index"):
        SpectrumIndex().persist(tmp_path / "spectra")


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_damaged_file_is_refused_or_searched_without_harm(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("damaged") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "BLOCK_ROWS", 16)
        SpectrumIndex().add(library(40)).persist(place).close()
        files = sorted(path for path in place.rglob("*") if path.is_file() and path.stat().st_size)
        path = data.draw(st.sampled_from(files))
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content) // 2]))])
        for verify in (True, False):
            with contextlib.suppress(MercerError), SpectrumIndex.open(place, verify=verify) as index:
                index.search(library(5), 5, mode="hybrid").table()


@pytest.mark.parametrize(("words", "act"), [
    ("tolerance", lambda index: SpectrumIndex(tolerance=0.0)),
    ("similarity.*one of", lambda index: SpectrumIndex("dot")),
    ("min_score > 0", lambda index: index.search(library(2), None)),
    ("mode", lambda index: index.search(library(2), mode="close")),
    ("no such column", lambda index: index.search(library(2), where="mass > 3")),
    ("shape", lambda index: index.search([[1, 2, 3]])),
    ("`k` must be", lambda index: index.search(library(2), 0)),
])  # fmt: skip
def test_bad_input_gives_one_clear_sentence(words, act):
    with pytest.raises(InputError, match=words):
        act(SpectrumIndex().add(library(3)))


def test_an_empty_library_and_empty_queries_find_nothing():
    assert SpectrumIndex().search(library(3)).table()["id"] == []
    assert len(SpectrumIndex().add(library(3)).search([]).ids) == 0
    assert len(SpectrumIndex().add(library(0)).search(library(2)).ids) == 0


@pytest.mark.data
def test_cleaning_is_that_of_ms_entropy_on_real_spectra(data_dir):
    ms_entropy = pytest.importorskip("ms_entropy")
    peaks, _ = massbank(data_dir, 4000)
    cleaned = clean_spectra(peaks, precursor_window="none", merge=0.05)
    wrong = 0
    for ours, table in zip(cleaned, peaks, strict=True):
        theirs = ms_entropy.clean_spectrum(table.astype(np.float32))
        same = len(theirs) == len(ours.mz)
        same = same and np.allclose(theirs[:, 0], ours.mz, atol=1e-3)
        wrong += not (same and np.allclose(theirs[:, 1], ours.intensity, atol=1e-6))
    assert wrong <= 4  # 0.1 %


@pytest.mark.data
def test_scores_are_those_of_ms_entropy_on_real_pairs(data_dir):
    ms_entropy = pytest.importorskip("ms_entropy")
    peaks, compound = massbank(data_dir, 2000)
    order = np.argsort(compound, kind="stable")
    cleaned = [
        ms_entropy.clean_spectrum(peaks[row].astype(np.float32), min_ms2_difference_in_da=0.041) for row in order
    ]
    scores, _ = spectral_similarity(cleaned[:-1], cleaned[1:], clean=False, tolerance=0.0205)
    theirs = [ms_entropy.calculate_entropy_similarity(a, b, ms2_tolerance_in_da=0.0205, clean_spectra=False)
              for a, b in itertools.pairwise(cleaned)]  # fmt: skip
    np.testing.assert_allclose(scores, theirs, atol=1e-5)  # theirs are of single precision


def massbank(data_dir, n):
    """(peaks, compound) of spectra chosen at random."""
    with np.load(data_dir / "massbank" / "massbank_ms2.npz") as data:
        rows = np.random.default_rng(0).choice(len(data["offsets"]) - 1, n, replace=False)
        mz, intensity, offsets, compound = (data[name] for name in ("mz", "intensity", "offsets", "inchikey14"))
    parts = [slice(*offsets[row : row + 2]) for row in rows]
    return [np.column_stack([mz[part] / 1000, intensity[part]]) for part in parts], compound[rows]
