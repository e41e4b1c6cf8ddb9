"""The index of many molecules: in memory, or in a directory where every change is durable."""

__all__ = ["MoleculeIndex"]

from numbers import Integral

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.parameters import Values, check_parameters
from mercer._base.parameters.molecules import CUTOFF, MOLECULE_INDEX, SEARCH
from mercer.molecules.clustering import cluster, maxmin
from mercer.molecules.collection import Molecules
from mercer.molecules.index.hits import MoleculeHits
from mercer.molecules.index.settings import GIVEN, Settings
from mercer.molecules.reading.files import warn_of
from mercer.search import KernelIndex, neighbor_graph
from mercer.search.rows.checks import damages_named, refuse_other_kind
from mercer.search.rows.place import header_of

_FORMAT = 1


class MoleculeIndex:
    """Search molecules exactly, by the similarity of their fingerprints.

    Molecules and queries get fingerprints with the settings of the index. Inverted lists
    search them, and every result equals that of a comparison with all molecules.

    Parameters
    ----------
    similarity : {"tanimoto", "dot-tanimoto", "dice", "cosine"}
        ``"tanimoto"``: sum of minima over sum of maxima, which of counts and of bits is RDKit's TanimotoSimilarity.
        ``"dot-tanimoto"``: <x, y> / (<x, x> + <y, y> - <x, y>), the other Tanimoto similarity of counts.
    fingerprint : {"morgan", "feature-morgan", "atom-pair", "torsion", "rdkit", "given"}
        Fingerprint type; with ``"given"``, you pass the fingerprints of molecules and queries.
    counts, radius, n_bits
        See :class:`mercer.features.MoleculeFingerprints`.
    n_jobs : int or None
        Number of threads, over queries.

    Attributes
    ----------
    rows : KernelIndex
        The fingerprints, with ``smiles``, ``name`` and further columns as its data; None while nothing was added.

    Examples
    --------
    >>> from mercer.molecules import Molecules
    >>> library = Molecules(["CCO", "CCCO", "c1ccccc1"], {"name": ["ethanol", "propanol", "benzene"]})
    >>> index = MoleculeIndex().add(library)  # doctest: +SKIP
    >>> hits = index.search(["CCCCO"], k=2)  # doctest: +SKIP
    >>> hits.columns["name"], hits.scores.round(2).tolist()  # doctest: +SKIP
    (['propanol', 'ethanol'], [0.56, 0.38])
    """

    def __init__(self, similarity="tanimoto", *, fingerprint="morgan", counts=True, radius=2, n_bits=2048, n_jobs=None):
        self.settings = Settings(similarity, fingerprint, counts, radius, n_bits)
        self.n_jobs = n_jobs
        check_parameters(Values(self.settings.document(), n_jobs=n_jobs), MOLECULE_INDEX, "MoleculeIndex")
        self.rows = None

    def _fitted(self, X):
        """The index of rows of this width."""
        kept = "float32" if self.settings.counts or self.settings.fingerprint == GIVEN else "uint8"
        index = KernelIndex(self.settings.kernel, store="lists", vectors=kept, n_jobs=self.n_jobs)
        return index.fit(sparse.csr_array(([1.0], ([0], [0])), shape=(1, X.shape[1]), dtype=np.float32))

    # ------------------------------------------------------------------------------------------------------ changes

    def encode(self, molecules, fingerprints=None, strict=False):
        """(molecules, rows) as this index compares them; what RDKit cannot read is left out, or refused if ``strict``.

        Parameters
        ----------
        molecules : Molecules, list of SMILES, or None where only fingerprints are known
        fingerprints : CSR matrix, of an index of given ones

        Returns
        -------
        Molecules, whose ``problems`` name what was left out, and a CSR matrix
        """
        if self.settings.fingerprint != GIVEN:
            if fingerprints is not None:
                raise InputError("MoleculeIndex accepts fingerprints only with fingerprint='given'.")
            return Molecules.of(molecules, "MoleculeIndex").fingerprints(self.settings.fingerprints, strict)
        if fingerprints is None:
            self.settings.fingerprints  # noqa: B018 - refuses
        X = sparse.csr_array(fingerprints)
        molecules = Molecules([None] * X.shape[0]) if molecules is None else Molecules.of(molecules, "MoleculeIndex")
        if len(molecules) != X.shape[0]:
            raise InputError(
                f"MoleculeIndex got {len(molecules)} molecules and {X.shape[0]} fingerprints; the numbers must be "
                f"equal."
            )
        return molecules, X

    def add(self, molecules, fingerprints=None):
        """Add molecules in one step. A warning names those that cannot be read.

        Parameters
        ----------
        molecules, fingerprints : see `encode`

        Returns
        -------
        self
        """
        molecules, X = self._told(molecules, fingerprints)
        return self.add_rows(molecules, X)

    def add_rows(self, molecules, X):
        """Add the result of `encode`."""
        if not X.shape[0]:
            return self
        rows = self.rows or self._fitted(X)
        data = molecules.data()
        if len(rows):
            known = rows.columns_
            data = {name: values for name, values in data.items() if name in known}
        rows.add(X, data=data or None)
        self.rows = rows
        return self

    def _told(self, molecules, fingerprints):
        before = len(molecules.problems) if isinstance(molecules, Molecules) else 0
        molecules, X = self.encode(molecules, fingerprints)
        warn_of(molecules.problems[before:])
        return molecules, X

    def persist(self, path):
        """Move the index to a new or empty directory, where changes are on disk when a method returns."""
        if self.path is not None:
            raise InputError(f"MoleculeIndex.persist works only on an index in memory, but this one is in {self.path}.")
        self._filled("MoleculeIndex.persist")
        rows = self.rows.rows_
        rows.move(path, header_of(self.rows, rows) | {"molecules": _FORMAT, "settings": self.settings.document()})
        return self

    @classmethod
    def open(cls, path, mode="r", *, verify=True, n_jobs=None):
        """Open an index in a directory.

        Parameters
        ----------
        path : directory
        mode : {"r", "w"}
            ``"w"`` allows adding, by one process at a time.
        verify : bool
            Verify all checksums, which reads every file once.
        """
        rows = KernelIndex.open(path, mode, verify=verify, n_jobs=n_jobs)
        try:
            storage = rows.rows_.storage
            refuse_other_kind(storage, "molecules")
            with damages_named(storage):
                found = _settings_in(storage.header, rows)
            index = cls(found.pop("similarity"), **found, n_jobs=n_jobs)
            index.rows = rows
            return index
        except BaseException:
            rows.close()
            raise

    def close(self):
        """Close the files and release the lock of the writer."""
        if self.rows is not None:
            self.rows.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    # ------------------------------------------------------------------------------------------------------- search

    def search(self, queries, k=10, *, min_score=0.0, where=None, fingerprints=None):
        """Find the molecules most similar to each query, best first; ties are ordered by number.

        Parameters
        ----------
        queries : Molecules or list of SMILES; what cannot be read is left out, with a warning
        k : int or None
            Maximum number of hits per query. None finds all with at least ``min_score``, which must be > 0.
        min_score : float
            Of a hit.
        where : str, mapping or None
            Condition on the columns of the index, such as "mass < 300".
        fingerprints : CSR matrix, of an index of given ones

        Returns
        -------
        MoleculeHits
        """
        return self.search_rows(*self._told(queries, fingerprints), k, min_score=min_score, where=where)

    def search_rows(self, queries, X, k=10, *, min_score=0.0, where=None):
        """Search with the result of `encode`."""
        who = "MoleculeIndex.search"
        check_parameters(Values(min_score=min_score), SEARCH, who)
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
            raise InputError(f"{who}: `k` must be an integer >= 1, or None; got {k!r:.80}.")
        if k is None and min_score <= 0:
            raise InputError(f"{who} needs min_score > 0 if k is None.")
        self._filled(who)
        if not X.shape[0]:
            ids, scores = [], []
        elif k is None:
            ids, scores = self.rows.range_search(X, min_similarity=min_score, where=where)
        else:
            ids, scores = self.rows.search(X, min(int(k), len(self)), where=where)
            kept = (ids >= 0) & (scores >= min_score)
            ids, scores = ([row[line] for row, line in zip(each, kept, strict=True)] for each in (ids, scores))
        offsets = np.concatenate([[0], np.cumsum([len(each) for each in ids], dtype=np.int64)]).astype(np.int64)
        ids, scores = np.concatenate([np.empty(0, np.int64), *ids]), np.concatenate([np.empty(0), *scores])
        return MoleculeHits(offsets, ids, scores, queries, self.columns)

    def pairs(self, min_score, *, where=None):
        """Find all pairs of molecules with at least ``min_score``; memory grows with their number.

        Returns
        -------
        first, second : ndarrays of int64, ids of molecules, first[i] < second[i], ascending
        scores : ndarray of float64
        """
        graph = self._graph(min_score, where, "MoleculeIndex.pairs")
        return graph.ids[graph.sources], graph.ids[graph.targets], graph.values

    def _graph(self, min_score, where, who):
        check_parameters(Values(min_score=min_score), (CUTOFF,), who)
        self._filled(who)
        return neighbor_graph(self.rows, min_similarity=min_score, where=where)

    def cluster(self, min_score=CUTOFF.default, method="butina"):
        """Cluster all molecules; memory grows with the number of pairs with at least ``min_score``.

        Parameters
        ----------
        min_score : float
            Of two molecules that are neighbors.
        method : {"butina", "components"}
            See :func:`cluster`.

        Returns
        -------
        Clusters
        """
        graph = self._graph(min_score, None, "MoleculeIndex.cluster")
        return cluster(graph.sources, graph.targets, len(graph.ids), method)

    def pick(self, n, first=(), random_state=0):
        """Pick ``n`` diverse molecules by :func:`maxmin`; returns ids and similarities to earlier picks."""
        self._filled("MoleculeIndex.pick")
        rows = self.rows.rows_
        picked, similarity = maxmin(rows.take(rows.alive), n, self.settings.kernel, first, random_state)
        return rows.ids.at(rows.alive[picked]), similarity

    # ------------------------------------------------------------------------------------------------ what there is

    @property
    def path(self):
        """The directory, or None in memory."""
        return None if self.rows is None else self.rows.rows_.path

    def _filled(self, who):
        if not len(self):
            raise InputError(f"{who} needs molecules in the index. Add some with add.")

    def __len__(self):
        return 0 if self.rows is None else len(self.rows)

    def columns(self, ids):
        """Return the columns of molecules by their ids: lists by name."""
        return {} if self.rows is None else self.rows.data(np.asarray(ids, dtype=np.int64))

    def stats(self):
        """Return sizes and settings, as a dictionary."""
        kept = self.rows.rows_ if self.rows is not None else None
        return {
            "molecules": len(self),
            "columns": {} if kept is None else self.rows.columns_,
            "index_bytes": 0 if kept is None else self.rows.stats()["lists_bytes"] + kept.kept_bytes(),
            "path": None if self.path is None else str(self.path),
            **self.settings.document(),
        }


def _settings_in(header, rows):
    """The settings that a header holds; anything may stand there."""
    found = header.get("settings")
    if header.get("molecules") != _FORMAT:
        raise FileProblem("is not an index of molecules, or has a different version.")
    if not isinstance(found, dict) or set(found) != set(Settings().document()):
        raise FileProblem("has a damaged catalogue: its settings do not belong to an index of molecules.")
    try:
        settings = Settings(**found).check("settings")
    except InputError as error:
        raise FileProblem(f"has a damaged catalogue: {error}") from error
    if settings.kernel != rows.kernel_ or (settings.fingerprint != GIVEN and settings.n_bits != rows.n_features_in_):
        raise FileProblem("has a damaged catalogue: its settings do not match its rows.")
    return dict(found)
