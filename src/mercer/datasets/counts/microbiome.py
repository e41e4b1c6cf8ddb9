"""Bacteria of the gut, counted by taxon, in people with and without a disease."""

__all__ = ["load_microbiome"]

import numpy as np
from sklearn.utils import Bunch

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, verified_bytes

ORIGIN = (
    "https://github.com/knights-lab/MLRepo: of datasets/gevers the refseq taxatable.txt, of datasets/qin2014 the "
    "refseq otutable.txt, and their files of tasks (task-ileum.txt, task-rectum.txt, task-healthy-cirrhosis.txt)"
)
# table -> file, samples, taxa, sha256
TABLES = {
    "gevers": (
        "gevers/taxatable.txt", 1_358, 992, "6a42dee6e724094f2696d1b6f015a2090f2b5874c813bd563cd18c91d556971d",
    ),
    "qin2014": (
        "qin2014/otutable.txt", 130, 8_483, "3900b2c5c97922eabda1ca87f9e0bd14274be1855511adc093bdbf110d2f811d",
    ),
}  # fmt: skip
# part -> table, file of the task, samples in it, sha256 of that file
PARTS = {
    "gevers-ileum": (
        "gevers", "gevers/task-ileum.txt", 140, "6b45f391464c3aad767384d0dab38603b24899314b81880aa49374d133d05128",
    ),
    "gevers-rectum": (
        "gevers", "gevers/task-rectum.txt", 160, "131df1bb785dc2cd151cf18f3f135739af7d8f7e9dcc5adf383de0c5c3492142",
    ),
    "qin2014": (
        "qin2014", "qin2014/task-healthy-cirrhosis.txt", 130,
        "ee7c5a1aa67725513dd6c786b01f1623796e568e8164d51e7d59b9206769d4d3",
    ),
    "gevers": ("gevers", None, 1_358, None),
}  # fmt: skip


def load_microbiome(part="gevers-ileum", *, root=None):
    """Samples as rows of counts of taxa, and the diagnosis of the person.

    Parameters
    ----------
    part : str
        ``"gevers-ileum"`` and ``"gevers-rectum"``: biopsies of 140 and 160 people with Crohn's disease (``"CD"``) or
        without (``"no"``) [gevers14treatment]. ``"qin2014"``: stool of 130 people, ``"Cirrhosis"`` or ``"Healthy"``
        [qin14alterations]. ``"gevers"``: all 1,358 samples of the first study, whatever their site; without diagnoses.
    root : path or None
        Directory of the data sets, with a folder ``microbiome``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    Bunch with
        data : float32 array of shape (samples, taxa), counts; 992 taxa of gevers, 8,483 genomes of qin2014
        target : str array of the diagnoses, or None for ``"gevers"``
        taxa : str array, names of the columns
        sample : str array, names of the rows
    """
    table, task, n_samples, sha256 = checked_part("load_microbiome", part, PARTS)
    counts, taxa, samples = _read_table(*TABLES[table], root)
    if task is None:
        return Bunch(data=counts, target=None, taxa=taxa, sample=samples)
    content = verified_bytes("microbiome", task, sha256, ORIGIN, root).decode()
    names, target = zip(*(line.split("\t")[:2] for line in content.splitlines()[1:]), strict=True)
    place = {name: row for row, name in enumerate(samples)}
    missing = [name for name in names if name not in place]
    if missing or len(names) != n_samples:
        raise InputError(f"{task} should name {n_samples} samples of {TABLES[table][0]}, but does not.")
    rows = [place[name] for name in names]
    return Bunch(data=counts[rows], target=np.array(target), taxa=taxa, sample=np.array(names))


def _read_table(name, n_samples, n_taxa, sha256, root):
    """(counts of shape (samples, taxa), taxa, samples) of a file with a line for each taxon."""
    head, *lines = verified_bytes("microbiome", name, sha256, ORIGIN, root).decode().splitlines()
    samples = np.array(head.split("\t")[1:])
    taxa, cells = zip(*(line.split("\t", 1) for line in lines), strict=True)
    counts = np.array([np.fromstring(line, dtype=np.float64, sep="\t") for line in cells])
    if counts.shape != (n_taxa, n_samples) or len(samples) != n_samples:
        raise InputError(f"{name} must contain {n_taxa} taxa of {n_samples} samples; it contains {counts.shape}.")
    return np.ascontiguousarray(counts.T, dtype=np.float32), np.array(taxa), samples
