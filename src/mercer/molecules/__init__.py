"""Molecules: read from files, compared by their fingerprints, searched exactly, clustered and picked."""

from mercer.molecules.clustering import Clusters, cluster, maxmin
from mercer.molecules.collection import Molecules
from mercer.molecules.index.hits import MoleculeHits
from mercer.molecules.index.index import MoleculeIndex
from mercer.molecules.picture import draw_grid
from mercer.molecules.reading.files import SkippedMoleculesWarning, read_molecules

__all__ = [
    "Clusters",
    "MoleculeHits",
    "MoleculeIndex",
    "Molecules",
    "SkippedMoleculesWarning",
    "cluster",
    "draw_grid",
    "maxmin",
    "read_molecules",
]
