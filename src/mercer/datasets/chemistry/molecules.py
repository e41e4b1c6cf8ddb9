"""Molecules that were tested against HIV, as SMILES."""

__all__ = ["load_molecules"]

import csv
import io

import numpy as np
from sklearn.utils import Bunch

from mercer._base.errors import InputError
from mercer.datasets.files import verified_bytes

ORIGIN = (
    "the set HIV of MoleculeNet (https://moleculenet.org, from the AIDS Antiviral Screen of the NIH), in the form "
    "datasets/HIV.csv of https://github.com/Nishiken1/LBF-ForChemicalCompounds: columns SMILES and ACTIVE"
)
NAME = "HIV.csv"
SHA256 = "0446f219913000937e68fad7af0df8210913d88220d7c739d1f483e7a3e36ceb"
N_MOLECULES = 41_127


def load_molecules(*, root=None):
    """Molecules and whether each keeps HIV from replicating [wu18moleculenet].

    ``mercer.features.count_fingerprints`` makes rows of numbers of them.

    Parameters
    ----------
    root : path or None
        Directory of the data sets, with a folder ``molecules``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    Bunch with
        smiles : str array of shape (41127,)
        active : bool array, True for 1,443 of them
    """
    content = verified_bytes("molecules", NAME, SHA256, ORIGIN, root).decode()
    lines = list(csv.reader(io.StringIO(content)))[1:]
    if len(lines) != N_MOLECULES:
        raise InputError(f"{NAME} must contain {N_MOLECULES} molecules, but contains {len(lines)}.")
    smiles, active = zip(*lines, strict=True)
    return Bunch(smiles=np.array(smiles), active=np.array(active, dtype=np.float64) > 0)
