"""Fingerprints: RDKit's own similarity of counts is the witness."""

import numpy as np
import pytest

from mercer import MinMax
from mercer.features import count_fingerprints, murcko_scaffolds

pytest.importorskip("rdkit")
SMILES = ["CCO", "CCCCO", "CC(=O)Oc1ccccc1C(=O)O", "not a molecule", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"]


def test_min_max_of_counts_is_rdkits_tanimoto():
    from rdkit import Chem, DataStructs
    from rdkit.Chem.rdFingerprintGenerator import GetMorganGenerator

    X, understood = count_fingerprints(SMILES)
    assert understood.tolist() == [True, True, True, False, True]
    assert (X.shape, X.dtype, X.has_canonical_format) == ((4, 2048), np.float32, True)
    assert X.data.max() > 1
    generator = GetMorganGenerator(radius=2, fpSize=2048)
    molecules = [Chem.MolFromSmiles(text) for text, good in zip(SMILES, understood, strict=True) if good]
    for rows, make in ((X, generator.GetCountFingerprint), (X > 0, generator.GetFingerprint)):
        prints = [make(molecule) for molecule in molecules]
        expected = [DataStructs.BulkTanimotoSimilarity(one, prints) for one in prints]
        np.testing.assert_allclose(MinMax()(rows.astype(np.float64)), expected, atol=1e-12)


def test_scaffolds_are_rings_and_what_links_them():
    assert murcko_scaffolds(SMILES).tolist() == ["", "", "c1ccccc1", "", "O=c1[nH]c(=O)c2[nH]cnc2[nH]1"]
