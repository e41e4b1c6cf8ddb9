"""matchms in an environment of its own, whose scipy is older than Mercer's: scores of pairs, and FlashSimilarity.

    MERCER_MATCHMS=/path/to/its/python python -m benchmarks fields-spectra

This file runs there as a script, with the names of the file that it reads and of the one that it writes.
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np

TOLERANCE = 0.1  # of the cosines
FLASH = 0.02


def ask_matchms(spectra, pairs, cleaned, asked):
    """What matchms says: scores of pairs by both cosines, first scores of queries and milliseconds; None without it.

    Parameters
    ----------
    spectra : Spectra, and ``pairs`` of numbers among them, as an array of shape (n, 2)
    cleaned : Spectra that are clean, and ``asked`` the numbers of some, which are searched for among them
    """
    import subprocess
    import tempfile

    python = os.environ.get("MERCER_MATCHMS")
    if not python:
        return None
    arrays = {"pairs": pairs, "asked": asked}
    for name, each in (("raw", spectra), ("clean", cleaned)):
        for part in ("mz", "intensity", "offsets", "precursor_mz"):
            arrays[f"{name}_{part}"] = getattr(each, part)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/in.npz", **arrays)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        subprocess.run([python, __file__, f"{folder}/in.npz", f"{folder}/out.npz"], check=True, env=environment)
        with np.load(f"{folder}/out.npz") as found:
            return dict(found)


def _main(source, target):
    from matchms import Spectrum
    from matchms.similarity import CosineGreedy, FlashSimilarity, ModifiedCosineGreedy

    data = np.load(source)

    def spectrum(kind, row):
        part = slice(*data[f"{kind}_offsets"][row : row + 2])
        known = {"precursor_mz": float(data[f"{kind}_precursor_mz"][row])}
        return Spectrum(arrays[kind][0][part], arrays[kind][1][part], known, metadata_harmonization=False)

    arrays = {kind: (data[f"{kind}_mz"], data[f"{kind}_intensity"]) for kind in ("raw", "clean")}
    found = {}
    sides = [[spectrum("raw", row) for row in side] for side in data["pairs"].T.tolist()]
    for name, measure in (("cosine", CosineGreedy(TOLERANCE)), ("modified", ModifiedCosineGreedy(TOLERANCE))):
        found[name] = np.array([float(measure.pair(a, b)["score"]) for a, b in zip(*sides, strict=True)])
    library = [spectrum("clean", row) for row in range(len(data["clean_offsets"]) - 1)]
    queries = [library[row] for row in data["asked"].tolist()]
    flash = FlashSimilarity(tolerance=FLASH, noise_cutoff=0, merge_within=0, remove_precursor=False)
    seconds = []
    for count in (1, 1, len(queries)):  # the library is indexed every time
        start = time.perf_counter()
        scores = flash.matrix(queries[:count], library, n_jobs=1)
        seconds.append(time.perf_counter() - start)
    found["build"] = np.array(seconds[1])
    found["milliseconds"] = np.array(1000 * (seconds[2] - seconds[1]) / (len(queries) - 1))
    scores[np.arange(len(queries)), data["asked"]] = 0  # themselves
    found["first"] = scores.max(axis=1)
    np.savez(target, **found)


if __name__ == "__main__":
    _main(*sys.argv[1:])
