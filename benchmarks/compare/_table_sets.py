"""Tables, histograms, counts, texts, images and molecules, as users have them: raw values, fixed splits."""

from __future__ import annotations

import numpy as np

from benchmarks.compare._sets import Split
from mercer import datasets

NUMBERS = ("concrete", "meats")  # to predict numbers: scored by R^2
RARE = ("molecules",)  # few of the rows are of one class: scored by ROC-AUC
SMALL = ("vowel", "vehicle", "sonar", "spam", "cells", "hpc", "pima", "dna", "digits", "microbiome", *NUMBERS)
LARGE = (
    "pendigits", "covtype", "ijcnn1", "shuttle", "adult", "20newsgroups", "sector", "Fashion-MNIST", "massbank",
    "molecules",
)  # fmt: skip
HISTOGRAMS = ("digits", "microbiome", "20newsgroups", "sector", "Fashion-MNIST", "massbank", "molecules", "spam")
N_SPLITS = 20  # of sets below 5,000 rows
MOST_ROWS, MOST_TEST = 10_000, 20_000  # of large sets: what the grid search of SVC ends on


def splits(name, quick):
    """The splits of a set; a quick run takes two of them and 300 rows."""
    if name in SMALL:
        X, y = _small(name)
        is_number = name in NUMBERS
        found = [_split(X, y, seed, None if is_number else y) for seed in range(2 if quick else N_SPLITS)]
    else:
        found = [_large(name)]
    return [_cut(one, 300, 300) for one in found] if quick else found


def _small(name):
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    if name == "microbiome":
        found = datasets.load_microbiome()
        return found.data, found.target
    file = _read("dna" if name == "dna" else "tables", f"{name}.npz")
    return np.asarray(file["X"], dtype=np.float64), file["y"]


def _read(folder, name):
    from mercer.datasets.files import data_root

    with np.load(data_root(None) / folder / name, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _split(X, y, seed, stratify):
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=stratify)
    return Split(X[train], y[train], X[test], y[test])


def _large(name):
    if name == "massbank":
        found = datasets.load_massbank(1.0)
        known = np.flatnonzero(found.superclass != "")
        compounds = np.unique(found.compound[known])  # spectra of a compound stay on one side
        tests = set(np.random.default_rng(0).permutation(compounds)[: len(compounds) // 3])
        is_test = np.array([one in tests for one in found.compound[known]])
        train, test = known[~is_test], known[is_test]
        rows = Split(found.data[train], found.superclass[train], found.data[test], found.superclass[test])
        return _cut(rows, MOST_ROWS, MOST_TEST)
    if name == "molecules":
        from mercer.features import count_fingerprints

        found = datasets.load_molecules()
        order = np.random.default_rng(0).permutation(len(found.smiles))[: MOST_ROWS + MOST_TEST]
        rows, valid = count_fingerprints(found.smiles[order])
        y = found.active[order][valid]
        return Split(rows[:MOST_ROWS], y[:MOST_ROWS], rows[MOST_ROWS:], y[MOST_ROWS:])
    load = {
        "pendigits": datasets.load_pendigits, "covtype": datasets.load_covtype, "ijcnn1": datasets.load_ijcnn1,
        "shuttle": datasets.load_shuttle, "adult": datasets.load_adult, "20newsgroups": datasets.load_20newsgroups,
        "sector": datasets.load_sector, "Fashion-MNIST": datasets.load_fashion_mnist,
    }[name]  # fmt: skip
    return _cut(Split(*load(), *load("test")), MOST_ROWS, MOST_TEST)


def _cut(split, n_train, n_test):
    """Some of the rows, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    train, test = (np.sort(rng.permutation(len(y))[:n]) for y, n in ((split.y, n_train), (split.y_test, n_test)))
    return Split(split.X[train], split.y[train], split.X_test[test], split.y_test[test])
