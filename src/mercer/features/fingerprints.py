"""Molecules as counts of their circular fragments, and the frames they are built on; both by RDKit."""

__all__ = ["count_fingerprints", "murcko_scaffolds"]

import numpy as np
from scipy import sparse

from mercer._base.errors import require_extra
from mercer._base.progress import track
from mercer._base.validation import narrow


def count_fingerprints(smiles, radius=2, n_bits=2048):
    """How often each circular fragment occurs in each molecule [rogers10extended].

    A fragment is an atom with its surroundings up to ``radius`` bonds away; its hash picks one of ``n_bits`` columns.
    Counts are compared by ``MinMax``, the Tanimoto similarity of counts. ``X > 0`` is the usual binary fingerprint, on
    which ``MinMax`` is the usual Tanimoto similarity.

    Parameters
    ----------
    smiles : sequence of n str
    radius : int
        2 gives the fragments of ECFP4.
    n_bits : int
        Number of columns.

    Returns
    -------
    X : csr_array of shape (molecules that RDKit understands, n_bits), float32
    understood : bool array of shape (n,)
        False where RDKit refuses the SMILES; these have no row in X.

    Examples
    --------
    >>> X, understood = count_fingerprints(["CCO", "CCCCO", "not a molecule"])  # doctest: +SKIP
    >>> X.shape, understood.tolist()  # doctest: +SKIP
    ((2, 2048), [True, True, False])
    """
    purpose = "Counting the fragments of molecules"
    makers = require_extra("rdkit.Chem.rdFingerprintGenerator", "examples", purpose)
    generator = makers.GetMorganGenerator(radius=radius, fpSize=n_bits)
    understood = np.zeros(len(smiles), dtype=bool)
    columns, counts, offsets = [], [], [0]
    for number, molecule in enumerate(_molecules(smiles, purpose)):
        if molecule is None:
            continue
        found = generator.GetCountFingerprint(molecule).GetNonzeroElements()
        columns.extend(found)
        counts.extend(found.values())
        offsets.append(len(columns))
        understood[number] = True
    parts = (np.array(counts, dtype=np.float32), np.array(columns, dtype=np.int32), np.array(offsets))
    X = sparse.csr_array(parts, shape=(len(offsets) - 1, n_bits))
    X.sort_indices()
    return narrow(X), understood


def murcko_scaffolds(smiles):
    """The rings of each molecule and what links them [bemis96properties], as SMILES; "" where there are none.

    Molecules with the same scaffold are one series of a chemist. A classifier that is tested on new scaffolds is tested
    on new chemistry: take these as ``groups`` of scikit-learn's ``GroupKFold``.

    Parameters
    ----------
    smiles : sequence of n str

    Returns
    -------
    str array of shape (n,); also "" where RDKit refuses the SMILES

    Examples
    --------
    >>> murcko_scaffolds(["CCc1ccccc1", "CCO"]).tolist()  # doctest: +SKIP
    ['c1ccccc1', '']
    """
    purpose = "Finding the scaffolds of molecules"
    frames = require_extra("rdkit.Chem.Scaffolds.MurckoScaffold", "examples", purpose)
    found = [
        "" if molecule is None else frames.MurckoScaffoldSmiles(mol=molecule)
        for molecule in _molecules(smiles, purpose)
    ]
    return np.array(found, dtype=str)


def _molecules(smiles, purpose):
    """RDKit's molecule for each SMILES, None where it refuses; its complaints on stderr are silenced meanwhile."""
    chem = require_extra("rdkit.Chem", "examples", purpose)
    log = require_extra("rdkit.rdBase", "examples", purpose)
    with log.BlockLogs():
        for text in track(smiles, purpose):
            yield chem.MolFromSmiles(str(text))
