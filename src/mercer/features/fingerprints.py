"""Molecules as rows: which fragments they have and how often, and the frames they are built on; all by RDKit."""

__all__ = ["MoleculeFingerprints", "count_fingerprints", "murcko_scaffolds"]

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from mercer._base.errors import InputError, require_extra
from mercer._base.parameters import check_parameters
from mercer._base.parameters.molecules import FINGERPRINTS
from mercer._base.progress import track
from mercer._base.validation import narrow

_PURPOSE = "Computing fingerprints of molecules"


class MoleculeFingerprints(TransformerMixin, BaseEstimator):
    """Compute fingerprints of molecules from SMILES [rogers10extended] with RDKit.

    The hash of a fragment modulo ``n_bits`` is its column: the scores of two such rows
    are those of RDKit's own fingerprints of this size. Fragments that share a column count together; with 2**20
    columns few do, and sparse rows take no more memory for it.

    Parameters
    ----------
    fingerprint : {"morgan", "feature-morgan", "atom-pair", "torsion", "rdkit"}
        Fingerprint type: circles around atoms, by element or by function; pairs of atoms with their distance; four
        atoms in a row; or paths.
    counts : bool
        Store how often each fragment occurs, or only whether it occurs. Binary atom pairs and torsions have further
        columns for fragments that occur more than once, as in RDKit.
    radius : int
        Radius of a Morgan fingerprint in bonds; 2 gives the fragments of ECFP4.
    n_bits : int
        Number of columns; fewer columns take less memory and let more fragments collide.
    column : str or None
        Column of SMILES in a table; None finds it by its name.

    Examples
    --------
    >>> X = MoleculeFingerprints().fit_transform(["CCO", "CCCCO"])  # doctest: +SKIP
    >>> X.shape, int(X.max())  # doctest: +SKIP
    ((2, 2048), 2)
    """

    takes_texts = True  # instead of numbers

    def __init__(self, fingerprint="morgan", *, counts=True, radius=2, n_bits=2048, column=None):
        self.fingerprint = fingerprint
        self.counts = counts
        self.radius = radius
        self.n_bits = n_bits
        self.column = column

    def fit(self, X=None, y=None):
        """Check the parameters; nothing is learned. ``X`` and ``y`` are ignored."""
        check_parameters(self, FINGERPRINTS, "MoleculeFingerprints")
        self.n_features_in_ = 1
        return self

    def transform(self, X):
        """Compute the fingerprints of SMILES, a CSR array of float32. A SMILES that RDKit cannot read raises an error.

        Parameters
        ----------
        X : sequence of n str, or an array or data frame with a column of them
        """
        texts = self._texts(X)
        rows, understood = self.understood(texts)
        if not understood.all():
            number = int(np.argmin(understood))
            raise InputError(
                f"MoleculeFingerprints: RDKit cannot read molecule {number} (counted from 0), {texts[number]!r:.80}. "
                "Correct or remove it."
            )
        return rows

    def understood(self, smiles):
        """(rows of those SMILES that RDKit understands, bool array of which these are)."""
        check_parameters(self, FINGERPRINTS, "MoleculeFingerprints")
        entries = self._entries()
        understood = np.zeros(len(smiles), dtype=bool)
        columns, counts, lengths = [], [], []
        for number, molecule in enumerate(_molecules(smiles, _PURPOSE)):
            if molecule is None:
                continue
            found, times = entries(molecule)
            columns.append(np.fromiter(found, dtype=np.int32, count=len(found)))
            counts.append(np.fromiter(times, dtype=np.float32, count=len(found)))
            lengths.append(len(found))
            understood[number] = True
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        data = np.concatenate([np.empty(0, dtype=np.float32), *counts])
        indices = np.concatenate([np.empty(0, dtype=np.int32), *columns])
        X = sparse.csr_array((data, indices, offsets), shape=(len(lengths), self.n_bits))
        X.sort_indices()
        return narrow(X), understood

    def _entries(self):
        """The function from a molecule to its columns and their values."""
        generator = _generator(self.fingerprint, self.radius, self.n_bits)

        def counted(molecule):
            found = generator.GetCountFingerprint(molecule).GetNonzeroElements()
            return found.keys(), found.values()

        def noted(molecule):
            found = generator.GetFingerprint(molecule).GetOnBits()
            return found, [1] * len(found)

        return counted if self.counts else noted

    def _texts(self, X):
        if isinstance(X, str):
            raise InputError(
                f"MoleculeFingerprints needs a list of SMILES; got the string {X!r:.80}. Put it into a list."
            )
        if hasattr(X, "columns") and self.column is not None:
            if self.column not in X.columns:
                raise InputError(
                    f"MoleculeFingerprints needs the column {self.column!r}, but the data frame does not have it."
                )
            X = X[self.column]
        values = np.asarray(X, dtype=object)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1:
            raise InputError(f"MoleculeFingerprints needs one column of SMILES; got an array of shape {values.shape}.")
        return values

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array, tags.input_tags.string = False, True, True
        tags.requires_fit = False
        return tags


def count_fingerprints(smiles, radius=2, n_bits=2048):
    """Count how often each circular fragment occurs in each molecule [rogers10extended].

    A fragment is an atom with its surroundings up to ``radius`` bonds away; its hash picks one of ``n_bits`` columns.
    Counts are compared by ``MinMax``, the Tanimoto similarity of counts. ``X > 0`` is the usual binary fingerprint, on
    which ``MinMax`` is the usual Tanimoto similarity. :class:`MoleculeFingerprints` makes others too.

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
    return MoleculeFingerprints(radius=radius, n_bits=n_bits).understood(smiles)


def murcko_scaffolds(smiles):
    """Compute the rings of each molecule and their linkers [bemis96properties], as SMILES; "" if there are none.

    Molecules with the same scaffold form a chemical series. To test a classifier on new scaffolds, use them as
    ``groups`` of scikit-learn's ``GroupKFold``.

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
    frames = require_extra("rdkit.Chem.Scaffolds.MurckoScaffold", "molecules", purpose)
    found = [
        "" if molecule is None else frames.MurckoScaffoldSmiles(mol=molecule)
        for molecule in _molecules(smiles, purpose)
    ]
    return np.array(found, dtype=str)


def _generator(fingerprint, radius, n_bits):
    """RDKit's generator of a fingerprint."""
    makers = require_extra("rdkit.Chem.rdFingerprintGenerator", "molecules", _PURPOSE)
    if fingerprint == "morgan":
        return makers.GetMorganGenerator(radius=radius, fpSize=n_bits)
    if fingerprint == "feature-morgan":
        features = makers.GetMorganFeatureAtomInvGen()
        return makers.GetMorganGenerator(radius=radius, fpSize=n_bits, atomInvariantsGenerator=features)
    if fingerprint == "atom-pair":
        return makers.GetAtomPairGenerator(fpSize=n_bits)
    if fingerprint == "torsion":
        return makers.GetTopologicalTorsionGenerator(fpSize=n_bits)
    return makers.GetRDKitFPGenerator(fpSize=n_bits)


def _molecules(smiles, purpose):
    """RDKit's molecule for each SMILES, None where it refuses; its complaints on stderr are silenced meanwhile."""
    chem = require_extra("rdkit.Chem", "molecules", purpose)
    log = require_extra("rdkit.rdBase", "molecules", purpose)
    with log.BlockLogs():
        for text in track(smiles, purpose):
            yield chem.MolFromSmiles(text) if isinstance(text, str) and text else None
