"""Molecules: read from files, compared by their fingerprints, searched exactly, clustered and picked."""

from mercer.molecules.clustering import Clusters, cluster, maxmin
from mercer.molecules.collection import Molecules
from mercer.molecules.index.hits import MoleculeHits
from mercer.molecules.index.index import MoleculeIndex
from mercer.molecules.picture import draw_grid
from mercer.molecules.reading.files import SkippedMoleculesWarning, read_molecules
from mercer.molecules.rows import MoleculeRows

__all__ = [
    "Clusters",
    "MoleculeHits",
    "MoleculeIndex",
    "MoleculeRows",
    "Molecules",
    "SkippedMoleculesWarning",
    "cluster",
    "draw_grid",
    "maxmin",
    "read_molecules",
]
