"""The index of a library of spectra: in memory, or in a directory where every change is durable."""

__all__ = ["SpectrumIndex"]

import os
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files import container
from mercer._base.files.container import FileProblem
from mercer._base.parameters import check_parameters
from mercer._base.parameters.spectra import SEARCH, SPECTRUM_INDEX
from mercer._base.threads import run_blocks
from mercer._native.spectra.matching import match_free
from mercer.search.columns.blocks import take_stored
from mercer.search.columns.types import python_values, storage_columns
from mercer.search.conditions.evaluation import fulfilled
from mercer.search.conditions.parsing import parse_condition
from mercer.search.rows.checks import damages_named, refuse_other_kind
from mercer.search.storage.blocks import Column
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage
from mercer.spectra.collection import Spectra
from mercer.spectra.index import confidence
from mercer.spectra.index.blocks import Blocks, verify_files
from mercer.spectra.index.hits import SpectrumHits
from mercer.spectra.index.searching import Question, nearest
from mercer.spectra.names import FIELDS, NAMES
from mercer.spectra.preparation import prepared
from mercer.spectra.settings import Settings
from mercer.spectra.showing.mirror import Mirror
from mercer.spectra.similarity import MODES

_COLUMNS = (
    Column("mz", np.dtype("<f8"), ragged=True),
    Column("intensity", np.dtype("<f4"), ragged=True),
    *storage_columns(FIELDS),
)
_PRECURSORS = f"data_{NAMES.index('precursor_mz')}"
_ADDED = 2**14  # spectra prepared together
_ASKED = 256  # library spectra that are compared with all others in one step
_FORMAT = 1


class SpectrumIndex:
    """Search a library of mass spectra exactly, by peaks that match within a tolerance.

    Library spectra and queries are cleaned with the same settings, which are stored with
    the index. A search adds up, peak by peak of the query, the shares of library peaks within the tolerance, and then
    matches peaks exactly for the few spectra whose sums reach the best scores so far.

    Parameters
    ----------
    similarity : {'entropy', 'unweighted', 'cosine'}
        Spectral entropy similarity [li21spectral] of intensities weighted by their entropy, or not; or the cosine.
    tolerance, unit : float, {'Da', 'ppm'}
        Maximum distance of two matching peaks.
    precursor_window, merge, noise, max_peaks, power
        Cleaning, see :func:`clean_spectra`.
    n_jobs : int or None
        Number of threads, over queries.

    Examples
    --------
    >>> from mercer.spectra import Spectra
    >>> library = Spectra.from_peaks([[[69.07, 7.9], [86.1, 67.0]], [[50.0, 9.0]]], name=["one", "two"])
    >>> index = SpectrumIndex().add(library)
    >>> hits = index.search([[[69.071, 8.0], [86.1, 66.0]]], k=1)
    >>> hits.columns["name"], hits.scores.round(4).tolist(), hits.matched_peaks.tolist()
    (['one'], [1.0], [2])
    """

    def __init__(
        self, similarity="entropy", *, tolerance=0.02, unit="Da", precursor_window=1.6, merge="auto", noise=0.01,
        max_peaks=0, power=1.0, n_jobs=None,
    ):  # fmt: skip
        self.settings = Settings(similarity, tolerance, unit, precursor_window, merge, noise, max_peaks, power)
        self.n_jobs = n_jobs
        check_parameters(_Given(self), SPECTRUM_INDEX, "SpectrumIndex")
        self._take(MemoryStorage(_COLUMNS, self._header()))

    def _take(self, storage, writes=True):
        self._storage, self._writes = storage, writes
        self._peaks, self._losses = Blocks("peaks", _PRECURSORS), Blocks("losses", _PRECURSORS)

    def _header(self):
        """What a directory keeps beside the rows."""
        return {"spectra": _FORMAT, "settings": self.settings.document()}

    # ------------------------------------------------------------------------------------------------------ changes

    def add(self, spectra):
        """Add spectra, all or none. MS1 scans (level 1, no name) are skipped.

        Parameters
        ----------
        spectra : Spectra, or what ``Spectra.of`` takes

        Returns
        -------
        self
        """
        spectra = Spectra.of(spectra, "SpectrumIndex.add")
        kept = np.flatnonzero(~spectra.ms1_scans)
        with self._storage.transaction("SpectrumIndex.add") as transaction:
            for start in range(0, len(kept), _ADDED):
                transaction.append(self._packed(spectra[kept[start : start + _ADDED]]))
        self._all_blocks()
        return self

    def _packed(self, spectra):
        mz, intensity, offsets = prepared(spectra, self.settings)
        lengths = np.diff(offsets)
        peaks = {"mz": (mz, lengths), "intensity": (intensity.astype(np.float32), lengths)}
        return peaks | spectra.packed_columns("SpectrumIndex.add")

    def persist(self, path):
        """Move the index to a new or empty directory, where changes are on disk when a method returns."""
        if self.path is not None:
            raise InputError(f"SpectrumIndex.persist works only on an index in memory, but this one is in {self.path}.")
        storage = DirectoryStorage.at(path)
        before = self._storage.snapshot

        def batches():
            for segment in before.segments:
                yield {column.name: _batch(segment.arrays[column.name]) for column in _COLUMNS}

        def write_model(place):
            container.write(place, {"spectra": self.settings.document()}, {})

        storage.fill(_COLUMNS, write_model, self._header(), batches())
        self._take(storage)
        self._all_blocks()
        return self

    @classmethod
    def open(cls, path, mode="r", *, verify=True, n_jobs=None):
        """Open an index in a directory.

        Parameters
        ----------
        path : directory
        mode : {'r', 'w'}
            'w' allows adding, by one process at a time.
        verify : bool
            Verify all checksums, which reads every file once.
        """
        storage = DirectoryStorage.open(path, mode, verify=verify)
        try:
            refuse_other_kind(storage, "spectra")
            with damages_named(storage):
                found = _settings_in(storage)
                index = cls(found.pop("similarity"), **found, n_jobs=n_jobs)
                _check_rows(storage, verify)
            index._take(storage, mode == "w")
            return index
        except BaseException:
            storage.close()
            raise

    def close(self):
        """Close the files and release the lock of the writer."""
        self._storage.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    # ------------------------------------------------------------------------------------------------------- search

    def search(
        self, queries, k=10, *, mode="open", min_score=0.0, min_matched_peaks=1, precursor_tolerance=0.01, where=None,
        q_values=False,
    ):  # fmt: skip
        """Find the library spectra most similar to each query, best first; ties are ordered by number.

        Parameters
        ----------
        queries : Spectra, or what ``Spectra.of`` takes
        k : int or None
            Maximum number of hits per query. None finds all with at least ``min_score``, which must be > 0.
        mode : {'identity', 'open', 'loss', 'hybrid'}
            What to compare. identity: peaks of spectra with precursors within ``precursor_tolerance`` Da; open: peaks
            of all spectra; loss: neutral losses; hybrid: peaks and then losses, or with ``similarity='cosine'`` the
            modified cosine. All modes except open skip spectra without a precursor.
        min_score, min_matched_peaks : of a hit
        where : str, mapping or None
            Condition on the columns of the library, such as "ion_mode = 'positive' and precursor_mz > 300".
        q_values : bool
            Estimate the q-value of each first hit: the share of wrong compounds among hits of at least its
            score, from searches with spectra of the library as queries.

        Returns
        -------
        SpectrumHits
        """
        who = "SpectrumIndex.search"
        check_parameters(_Asked(mode, min_score, min_matched_peaks, precursor_tolerance), SEARCH, who)
        if k is not None and (not isinstance(k, Integral) or isinstance(k, bool) or k < 1):
            raise InputError(f"{who}: `k` must be an integer >= 1, or None; got {k!r:.80}.")
        if k is None and min_score <= 0:
            raise InputError(f"{who} needs min_score > 0 if k is None.")
        queries = Spectra.of(queries, who)
        snapshot, settings = self._storage.snapshot, self.settings
        k = None if k is None else min(int(k), max(1, snapshot.n_positions))
        question = Question(settings.kind, MODES[mode], settings.tolerance, settings.ppm, k, float(min_score),
                            int(min_matched_peaks))  # fmt: skip
        allowed = None if where is None else fulfilled(parse_condition(where, FIELDS, who), FIELDS, snapshot)
        peaks, losses = self._all_blocks(mode in ("loss", "hybrid"))
        mz, intensity, offsets = prepared(queries, settings)
        intensity, precursors = intensity.astype(np.float32), queries.precursor_mz
        library = self._stored_precursors(snapshot) if mode == "identity" else None

        def ask(question, mz, intensity, precursor, among=None):
            here = among if allowed is None else allowed if among is None else allowed & among
            if mode == "identity":
                near = np.abs(library - precursor) <= precursor_tolerance
                here = near if here is None else near & here
            return nearest(question, mz, intensity, precursor, peaks, losses, here)

        def found(number):
            part = slice(offsets[number], offsets[number + 1])
            return ask(question, mz[part], intensity[part], precursors[number])

        answers = run_blocks(found, range(len(queries)), self.n_jobs)
        q = None
        if q_values:
            tops = [scores[0] if len(scores) else 0.0 for scores, _, _ in answers]
            q = self._q_values(snapshot, tops, allowed, partial(ask, replace(question, k=1)))
        # made for a picture alone: checking its peaks would take a quarter of the time of a query
        cleaned = partial(Spectra, mz, intensity, offsets, queries.columns)
        return self._hits(snapshot, queries, cleaned, MODES[mode], answers, q)

    def _q_values(self, snapshot, tops, allowed, ask):
        positions = np.arange(snapshot.n_positions)
        columns = (self._values(snapshot, name, positions) for name in ("inchikey", "name"))
        compounds, precursors = confidence.compounds_of(*columns), self._stored_precursors(snapshot)

        def best_among(position, among):
            scores, _, _ = ask(*self._stored_peaks(snapshot, position), precursors[position], among)
            return scores[0] if len(scores) else 0.0

        run = partial(run_blocks, n_jobs=self.n_jobs, title="q-values")
        asked = confidence.chosen_to_ask(compounds, allowed)
        return confidence.q_values(tops, confidence.calibrate(compounds, asked, best_among, run))

    def pairs(self, min_score, *, mode="open", min_matched_peaks=1):
        """Find all pairs of library spectra with at least ``min_score``, which must be > 0.

        Returns
        -------
        first, second : ndarrays of int64, numbers of spectra, first[i] < second[i], ascending
        scores : ndarray of float64
        matched_peaks : ndarray of int64
        """
        who = "SpectrumIndex.pairs"
        check_parameters(_Asked(mode, min_score, min_matched_peaks, 0.0), SEARCH, who)
        if min_score <= 0 or mode == "identity":
            raise InputError(f"{who} needs min_score > 0 and a mode other than identity.")
        settings = self.settings
        question = Question(settings.kind, MODES[mode], settings.tolerance, settings.ppm, None, float(min_score),
                            int(min_matched_peaks))  # fmt: skip
        peaks, losses = self._all_blocks(mode in ("loss", "hybrid"))
        n = len(self)
        ladder = np.arange(2 * n) >= n  # a part of it is true behind any position
        tasks = [(number, start, min(start + _ASKED, block.n_rows)) for number, block in enumerate(peaks)
                 for start in range(0, block.n_rows, _ASKED)]  # fmt: skip

        def found(task):
            number, start, stop = task
            block, others = peaks[number], (peaks[number:], losses and losses[number:])
            (mz, offsets), (intensity, _) = block.segment.arrays["mz"], block.segment.arrays["intensity"]
            parts = []
            for row in range(block.start + start, block.start + stop):
                part = slice(offsets[row], offsets[row + 1])
                own = block.segment.first + row
                later = ladder[n - 1 - own : 2 * n - 1 - own]
                scores, matched, ids = nearest(
                    question, mz[part], intensity[part], block.precursors[row], *others, later
                )
                order = np.argsort(ids)
                parts.append((np.full(len(order), own), ids[order], scores[order], matched[order]))
            return [np.concatenate(each) for each in zip(*parts, strict=True)]

        answers = run_blocks(found, tasks, self.n_jobs, title="pairs")
        empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
        return tuple(np.concatenate(each) for each in zip(*[empty, *answers], strict=True))

    def _hits(self, snapshot, queries, cleaned, mode, answers, q):
        counts = [len(scores) for scores, _, _ in answers]
        scores, matched, ids = (np.concatenate([each[i] for each in answers]) if answers else np.empty(0, dtype)
                                for i, dtype in enumerate((np.float64, np.int64, np.int64)))  # fmt: skip
        offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        names, look_up = queries.labels(), partial(self._values, snapshot)

        def compare(query, hit):
            settings, stored, asked = self.settings, self.spectrum(int(ids[hit])), cleaned()[query]
            free = np.ones(len(asked.mz), dtype=bool), np.ones(len(stored.mz), dtype=bool)
            shift = asked.metadata.get("precursor_mz", np.nan) - stored.metadata.get("precursor_mz", np.nan)
            match_free(settings.kind, mode, asked.mz, asked.intensity, stored.mz, stored.intensity, shift,
                       settings.tolerance, settings.ppm, *free)  # fmt: skip
            known = stored.metadata.get("name") or stored.metadata.get("spectrum_id")
            words = names[query] or f"query {query}", known or f"library spectrum {ids[hit]}"
            return Mirror(asked, stored, ~free[0], ~free[1], float(scores[hit]), int(matched[hit]), words)

        return SpectrumHits(offsets, ids, scores, matched, names, queries.precursor_mz, look_up, compare, q)

    def _stored_precursors(self, snapshot):
        return np.concatenate([segment.arrays[_PRECURSORS] for segment in snapshot.segments] or [np.empty(0)])

    def _stored_peaks(self, snapshot, position):
        segment = next(each for each in reversed(snapshot.segments) if each.first <= position)
        (mz, offsets), (intensity, _) = segment.arrays["mz"], segment.arrays["intensity"]
        part = slice(*offsets[position - segment.first : position - segment.first + 2])
        return mz[part], intensity[part]

    def _values(self, snapshot, name, ids):
        place = NAMES.index(name)
        try:
            return python_values(FIELDS[place], take_stored(snapshot, FIELDS[place], place, ids))
        except FileProblem as problem:
            raise InputError(f"The index {problem}") from problem

    def _all_blocks(self, with_losses=False):
        """(blocks of peaks, blocks of losses or None) of this moment."""
        folder = None if self.path is None else self._storage.model_path.parent
        writes = folder is not None and self._writes
        snapshot = self._storage.snapshot
        losses = self._losses.of(snapshot, folder, writes) if with_losses else None
        return self._peaks.of(snapshot, folder, writes), losses

    # ------------------------------------------------------------------------------------------------ what there is

    @property
    def path(self):
        """The directory, or None in memory."""
        return getattr(self._storage, "path", None)

    def __len__(self):
        return self._storage.n_positions

    def spectrum(self, number):
        """Return a library spectrum after cleaning, with its columns; intensities are weighted for the similarity."""
        if not isinstance(number, Integral) or not 0 <= number < len(self):
            raise InputError(f"The index has the spectra 0 to {len(self) - 1}, got {number!r:.80}.")
        mz, intensity = self._stored_peaks(self._storage.snapshot, number)
        return Spectra(mz, intensity, [0, len(mz)], self.columns([number], *NAMES))[0]

    def columns(self, ids, *names):
        """Return columns of spectra by their numbers: lists by name, with None for missing values."""
        ids = np.asarray(ids, dtype=np.int64)
        if ids.size and not (ids.min() >= 0 and ids.max() < len(self)):
            raise InputError(f"The index has the spectra 0 to {len(self) - 1}, but other numbers were requested.")
        unknown = next((name for name in names if name not in NAMES), None)
        if unknown is not None:
            raise InputError(f"The index has no column {unknown!r:.80}. The columns are {', '.join(NAMES)}.")
        return {name: self._values(self._storage.snapshot, name, ids) for name in names}

    def stats(self):
        """Return sizes and settings, as a dictionary."""
        snapshot = self._storage.snapshot
        precursors = [segment.arrays[_PRECURSORS] for segment in snapshot.segments]
        peaks, _ = self._all_blocks()
        kept = sum(each[0].nbytes + each[1].nbytes for segment in snapshot.segments
                   for each in (segment.arrays["mz"], segment.arrays["intensity"]))  # fmt: skip
        return {
            "spectra": len(self),
            "peaks": sum(len(segment.arrays["mz"][0]) for segment in snapshot.segments),
            "without_precursor": sum(int(np.isnan(each).sum()) for each in precursors),
            "peak_bytes": kept,
            "index_bytes": sum(block.nbytes for block in peaks),
            "path": None if self.path is None else os.fspath(self.path),
            **self.settings.document(),
        }


class _Given:
    """Settings and threads under the names of the table."""

    def __init__(self, index):
        self.__dict__.update(index.settings.document(), n_jobs=index.n_jobs)


class _Asked:
    """What a search was given."""

    def __init__(self, mode, min_score, min_matched_peaks, precursor_tolerance):
        self.mode, self.min_score, self.min_matched_peaks = mode, min_score, min_matched_peaks
        self.precursor_tolerance = precursor_tolerance


def _batch(array):
    return (array[0], np.diff(array[1])) if isinstance(array, tuple) else array


def _settings_in(storage):
    """The settings that a header holds; anything may stand there."""
    header = storage.header
    if header.get("spectra") != _FORMAT or tuple(storage.columns) != _COLUMNS:
        raise FileProblem("is not an index of spectra, has a different version, or has a damaged catalogue.")
    found = header.get("settings")
    if not isinstance(found, dict) or set(found) != set(Settings().document()):
        raise FileProblem("has a damaged catalogue: its settings do not belong to an index of spectra.")
    try:
        Settings(**found).check("settings")
    except InputError as error:
        raise FileProblem(f"has a damaged catalogue: {error}") from error
    return found


def _check_rows(storage, verify):
    """Peaks have an intensity each; with ``verify``, all of them can be peaks."""
    for number, segment in enumerate(storage.snapshot.segments):
        (mz, offsets), (intensity, others) = segment.arrays["mz"], segment.arrays["intensity"]
        if not np.array_equal(offsets, others):
            raise FileProblem(f"has a damaged segment {number}: spectra have more m/z than intensities, or fewer.")
        if verify:
            ends = np.zeros(max(1, len(mz)), dtype=bool)
            ends[offsets[1:-1][offsets[1:-1] < len(mz)]] = True
            ascends = (np.diff(mz, prepend=mz[:1]) >= 0) | ends[: len(mz)]
            if not (np.isfinite(mz).all() and ascends.all() and np.isfinite(intensity).all() and (intensity > 0).all()):
                raise FileProblem(f"has a damaged segment {number}: its peaks are not valid.")
    if verify:
        verify_files(storage.model_path.parent)
