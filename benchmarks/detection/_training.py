"""Detectors of persons trained on INRIA, and what their training took."""

from __future__ import annotations

DENSE, CODES, MORE = "dense", "256 words", "512 words"
STORAGES = {
    DENSE: {"codewords": None, "storage": "bytes"},
    CODES: {"codewords": 256},
    MORE: {"codewords": 512},
}
QUICK = {"interval": 2, "root_rounds": 1, "part_rounds": 1, "minings": 1, "cache_size": 1000}


def trained(storage, n_parts, seed, images, boxes, quick=False):
    """(detector, seconds)."""
    import time

    from mercer.detection import PartDetector

    options = STORAGES[storage] | (QUICK if quick else {})
    detector = PartDetector(2, n_parts, random_state=seed, **options)
    start = time.perf_counter()
    detector.fit(images, boxes)
    return detector, time.perf_counter() - start


def costs(detector):
    """What the training took, by its history: seconds per mining and per solution, bytes of cells and of the cache."""
    steps = {name: [one for one in detector.history_ if one["step"] == name] for name in ("mine", "solve", "describe")}
    return {
        "mining, s": sum(one["seconds"] for one in steps["mine"]) / len(steps["mine"]),
        "solver, s": sum(one["seconds"] for one in steps["solve"]) / len(steps["solve"]),
        "negatives, MB": max(one["cached_bytes"] for one in steps["mine"]) / 1e6,
        "cells, MB": steps["describe"][0]["bytes"] / 1e6,
    }
