"""Detectors of persons trained on INRIA, and what their training took."""

from __future__ import annotations

DENSE, CODES, MORE, PAIR = "dense", "256 words", "512 words", "256 words, mirrored pair"
LINEAR = "256 words, linear"  # as published
STORAGES = {
    DENSE: {"n_components": 1, "codewords": None, "storage": "bytes", "C": 0.004},  # better than 0.008, held out
    CODES: {"n_components": 1, "codewords": 256},
    LINEAR: {"n_components": 1, "codewords": 256, "kernel": "linear"},
    MORE: {"n_components": 1, "codewords": 512},
    PAIR: {"n_components": 2, "codewords": 256},
}
QUICK = {"interval": 2, "n_root_rounds": 1, "n_part_rounds": 1, "n_mining_rounds": 1, "cache_size": 1000}


def detector_of(storage, n_parts, seed, quick=False):
    """The detector that is trained: the defaults, but for how cells are kept and the number of components."""
    from mercer.detection import PartDetector

    return PartDetector(n_parts=n_parts, random_state=seed, **(STORAGES[storage] | (QUICK if quick else {})))


def trained(storage, n_parts, seed, images, boxes, quick=False):
    """(detector, seconds)."""
    import time

    detector = detector_of(storage, n_parts, seed, quick)
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
