"""Searches among molecules against RDKit's own similarities, clusters and picks."""

import shutil

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError, KernelIndex, MercerError
from mercer.molecules import MoleculeIndex, Molecules, SkippedMoleculesWarning, cluster, maxmin
from tests.molecules.samples import SMILES

pytest.importorskip("rdkit")
FINGERPRINTS = ("morgan", "feature-morgan", "atom-pair", "torsion", "rdkit")


def rdkit_prints(fingerprint, counts, n_bits=2048):
    from rdkit import Chem
    from rdkit.Chem import rdFingerprintGenerator as made

    generator = {
        "morgan": lambda: made.GetMorganGenerator(radius=2, fpSize=n_bits),
        "feature-morgan": lambda: made.GetMorganGenerator(
            radius=2, fpSize=n_bits, atomInvariantsGenerator=made.GetMorganFeatureAtomInvGen()
        ),
        "atom-pair": lambda: made.GetAtomPairGenerator(fpSize=n_bits),
        "torsion": lambda: made.GetTopologicalTorsionGenerator(fpSize=n_bits),
        "rdkit": lambda: made.GetRDKitFPGenerator(fpSize=n_bits),
    }[fingerprint]()
    make = generator.GetCountFingerprint if counts else generator.GetFingerprint
    return [make(Chem.MolFromSmiles(text)) for text in SMILES]


def matrix(index):
    """All scores between all molecules, by a search for all of them."""
    hits = index.search(SMILES, k=len(SMILES))
    found = np.full((len(SMILES),) * 2, np.nan)
    for query in range(len(SMILES)):
        ids, scores = hits.of(query)
        found[query, ids] = scores
    return found


@pytest.mark.parametrize("fingerprint", FINGERPRINTS)
@pytest.mark.parametrize("counts", [True, False])
def test_scores_are_rdkits_tanimoto_and_dice(fingerprint, counts):
    from rdkit import DataStructs

    prints = rdkit_prints(fingerprint, counts)
    for similarity, bulk in (
        ("tanimoto", DataStructs.BulkTanimotoSimilarity),
        ("dice", DataStructs.BulkDiceSimilarity),
    ):
        index = MoleculeIndex(similarity, fingerprint=fingerprint, counts=counts).add(SMILES)
        # RDKit divides by a sum that is never 0: two molecules without any fragment are 1 here, and 0 or 1 there
        filled = [i for i, each in enumerate(prints) if bulk(each, [each])[0] > 0]
        expected = np.array([bulk(each, prints) for each in prints])[np.ix_(filled, filled)]
        np.testing.assert_allclose(matrix(index)[np.ix_(filled, filled)], expected, rtol=1e-12)


def test_scores_are_rdkits_cosine_and_the_products_of_counts():
    from rdkit import DataStructs

    prints = rdkit_prints("morgan", counts=False)
    expected = [DataStructs.BulkCosineSimilarity(each, prints) for each in prints]
    np.testing.assert_allclose(matrix(MoleculeIndex("cosine", counts=False).add(SMILES)), expected, rtol=1e-12)
    index = MoleculeIndex("dot-tanimoto").add(SMILES)
    _, X = index.encode(SMILES)
    X = X.toarray().astype(float)
    common, sizes = X @ X.T, (X**2).sum(1)
    np.testing.assert_allclose(matrix(index), common / (sizes[:, None] + sizes - common), rtol=1e-12)
    binary = [matrix(MoleculeIndex(name, counts=False).add(SMILES)) for name in ("tanimoto", "dot-tanimoto")]
    np.testing.assert_array_equal(*binary)


def test_a_threshold_finds_all_that_reach_it_and_conditions_hold():
    index = MoleculeIndex().add(Molecules(SMILES, {"heavy": [len(text) > 15 for text in SMILES]}))
    scores = matrix(index)
    hits = index.search(SMILES, k=None, min_score=0.3)
    assert [set(hits.of(i)[0].tolist()) for i in range(len(hits))] == [
        set(np.flatnonzero(row >= 0.3).tolist()) for row in scores
    ]
    hits = index.search(SMILES[:3], k=2, min_score=0.1, where="heavy = true")
    assert all(index.columns(hits.ids)["heavy"])
    first, second, values = index.pairs(0.3)
    expected = np.argwhere(np.triu(scores >= 0.3, 1))
    assert np.column_stack([first, second]).tolist() == expected.tolist()
    np.testing.assert_array_equal(values, scores[first, second])


@pytest.mark.parametrize("min_score", [0.2, 0.35, 0.6])
def test_butinas_clusters_are_rdkits_in_its_order(min_score):
    from rdkit.ML.Cluster import Butina

    index = MoleculeIndex().add(SMILES)
    distances = 1 - matrix(index)
    # a little wider: 1 - score and 1 - cutoff are rounded differently
    expected = Butina.ClusterData(distances, len(SMILES), 1 - min_score + 1e-12, isDistData=True)
    found = index.cluster(min_score)
    assert [found.members(i).tolist() for i in range(len(found))] == [[c[0], *sorted(c[1:])] for c in expected]
    assert found.sizes.tolist() == [len(each) for each in expected]
    components = index.cluster(min_score, "components")
    graph = sparse.csgraph.connected_components(sparse.csr_array(distances <= 1 - min_score + 1e-12))[1]
    assert len({*zip(components.labels.tolist(), graph.tolist(), strict=True)}) == len(components) == graph.max() + 1
    assert (np.diff(components.sizes) <= 0).all()
    assert (components.labels[components.centers] == np.arange(len(components))).all()


@pytest.mark.parametrize("similarity", ["tanimoto", "dot-tanimoto", "dice", "cosine"])
def test_picked_molecules_are_the_least_similar_ones_one_by_one(similarity):
    index = MoleculeIndex(similarity).add(SMILES)
    scores, picked = matrix(index), [4]
    while len(picked) < 9:
        nearest = scores[:, picked].max(axis=1)
        nearest[picked] = np.inf
        picked.append(int(np.argmin(np.round(nearest, 12))))
    ids, nearest = index.pick(9, first=[4])
    assert ids.tolist() == picked
    assert np.isnan(nearest[0])
    assert (np.diff(nearest[1:]) >= -1e-12).all()
    assert index.pick(3, random_state=1)[0].tolist() == index.pick(3, random_state=1)[0].tolist()


def test_picked_molecules_are_rdkits():
    from rdkit.SimDivFilters.rdSimDivPickers import MaxMinPicker

    scores = matrix(MoleculeIndex(counts=False).add(SMILES))
    # the sequence may differ where rows tie; how far each pick is from those before may not
    expected = list(MaxMinPicker().LazyBitVectorPick(rdkit_prints("morgan", False), len(SMILES), 8, firstPicks=[0]))
    _, similarity = MoleculeIndex(counts=False).add(SMILES).pick(8, first=[0])
    theirs = [scores[row, expected[:i]].max() for i, row in enumerate(expected) if i]
    np.testing.assert_allclose(similarity[1:], theirs, rtol=1e-12)


def test_an_index_in_a_directory_answers_as_in_memory_and_grows(tmp_path):
    library = Molecules(SMILES, {"name": [f"m{i}" for i in range(len(SMILES))], "id": list(range(len(SMILES)))})
    index = MoleculeIndex("dot-tanimoto", fingerprint="torsion", counts=False, n_bits=512).add(library)
    before = index.search(SMILES[:5], 4)
    index.persist(tmp_path / "index").close()
    with MoleculeIndex.open(tmp_path / "index", "w") as opened:
        assert opened.settings == index.settings
        after = opened.search(SMILES[:5], 4)
        assert (after.ids.tolist(), after.scores.tolist()) == (before.ids.tolist(), before.scores.tolist())
        with pytest.warns(SkippedMoleculesWarning, match=r"molecule 1 .*RDKit cannot read 'C\('"):
            opened.add(Molecules(["CCO", "C("], {"name": ["more", "bad"], "new": [1, 2]}))
    with MoleculeIndex.open(tmp_path / "index") as opened:
        assert len(opened) == len(SMILES) + 1
        assert opened.columns([len(SMILES)]) == {"smiles": ["CCO"], "name": ["more"], "id_": [None]}
        table = opened.search(["CCO"], 1).table()
        assert (table["id_"], table["id"]) == ([SMILES.index("CCO")], [SMILES.index("CCO")])
    with KernelIndex.open(tmp_path / "index") as rows:  # is an index of its rows too
        assert len(rows) == len(SMILES) + 1


def test_fingerprints_of_the_callers_own_need_no_smiles():
    X = sparse.random_array((20, 50), density=0.2, rng=np.random.default_rng(0), format="csr")
    index = MoleculeIndex("cosine", fingerprint="given").add(None, X)
    hits = index.search(None, 3, fingerprints=X[:2])
    assert hits.ids[[0, 3]].tolist() == [0, 1]
    assert hits.table()["smiles"] == [None] * 6
    with pytest.raises(InputError, match="Pass the fingerprints of these molecules too"):
        index.search(["CCO"])
    with pytest.raises(InputError, match="2 molecules and 1 fingerprints"):
        index.add(["CCO", "C"], X[:1])
    with pytest.raises(InputError, match="fingerprints only with fingerprint='given'"):
        MoleculeIndex().add(["CCO"], X[:1])


@pytest.mark.parametrize(
    "forged",
    [
        {"molecules": 2},
        {"settings": None},
        {"settings": {"similarity": "tanimoto"}},
        {"settings": {"radius": "x"}},
        {"settings": {"similarity": "dice"}},
        {"settings": {"n_bits": 1024}},
        {"settings": {"fingerprint": "none"}},
    ],
)
def test_a_forged_header_is_refused_by_the_name_of_its_directory(tmp_path, forged):
    import mercer.molecules.index.index as module

    index, made = MoleculeIndex().add(SMILES[:3]), module.header_of
    usual = {"molecules": 1, "settings": index.settings.document()}
    settings = forged.get("settings", {})
    bad = usual | forged
    if isinstance(settings, dict) and len(settings) == 1 and settings != {"similarity": "tanimoto"}:
        bad["settings"] = usual["settings"] | settings
    rows = index.rows.rows_
    rows.move(tmp_path / "index", made(index.rows, rows) | bad)
    index.close()
    with pytest.raises(MercerError, match="index"):
        MoleculeIndex.open(tmp_path / "index")
    shutil.rmtree(tmp_path / "index")
    KernelIndex("min-max").fit(sparse.eye_array(3, format="csr")).persist(tmp_path / "index").close()
    with pytest.raises(MercerError, match=r"is an index of rows. Open it with mercer.KernelIndex.open"):
        MoleculeIndex.open(tmp_path / "index")


def test_what_cannot_be_asked_is_refused():
    index = MoleculeIndex()
    with pytest.raises(InputError, match="needs molecules in the index"):
        index.search(["CCO"])
    index.add(SMILES[:4])
    for call, message in (
        (lambda: index.search(["CCO"], 0), "`k` must be an integer >= 1"),
        (lambda: index.search(["CCO"], None), "needs min_score > 0"),
        (lambda: index.search("CCO"), "list of SMILES"),
        (lambda: index.pairs(0.0), "`min_score` must be a number > 0"),
        (lambda: index.pick(5), "needs n from 1 to 4"),
        (lambda: index.pick(2, first=[9]), "different numbers from 0 to 3"),
        (lambda: index.cluster(0.5, "k-means"), "'butina' or 'components'"),
        (lambda: cluster([0], [5], 3), "pairs of molecules from 0 to 2"),
        (lambda: maxmin(sparse.eye_array(3), 2, kernel="chi2"), "maxmin supports the kernels"),
        (lambda: MoleculeIndex("jaccard"), "`similarity` must be one of"),
        (lambda: MoleculeIndex(n_bits=3), "`n_bits`"),
        (lambda: Molecules(["C"], {"name": []}), "1 SMILES, and the column 'name' 0 values"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_pictures_are_drawn_with_as_many_structures_as_hits(tmp_path):
    hits = MoleculeIndex().add(SMILES).search(SMILES[:2], 7)
    hits.draw(tmp_path / "hits.svg")
    hits.draw(tmp_path / "hits.png")
    assert (tmp_path / "hits.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "hits.svg").read_text()
    with pytest.raises(InputError, match=r"\.png or \.svg"):
        hits.draw(tmp_path / "hits.pdf")
