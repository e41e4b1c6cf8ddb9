"""Loaders of real data sets, from files that the user has; nothing is downloaded.

Files are looked for in the directory that ``MERCER_DATA`` names, in a folder for each data set, plain or packed (gz,
bz2, xz). Their checksums are verified, so that a measurement on them means the same everywhere. One set is made from
other files, by a recipe (:func:`make_scenes_sift`). :func:`make_spectra`, :func:`make_fingerprints` and
:func:`make_compositions` make up rows of the same shape, for examples that must run without any file.
"""

from mercer.datasets.catalogue import CATALOGUE
from mercer.datasets.chemistry.massbank import load_massbank
from mercer.datasets.chemistry.molecules import load_molecules
from mercer.datasets.counts.kos import load_kos
from mercer.datasets.counts.microbiome import load_microbiome
from mercer.datasets.counts.newsgroups import load_20newsgroups
from mercer.datasets.images.fashion_mnist import load_fashion_mnist
from mercer.datasets.images.scenes_sift import load_scenes_sift, make_scenes_sift
from mercer.datasets.images.sift import load_sift
from mercer.datasets.synthetic import make_compositions, make_fingerprints, make_spectra
from mercer.datasets.tables.covtype import load_covtype
from mercer.datasets.tables.libsvm import load_adult, load_ijcnn1, load_sector
from mercer.datasets.tables.pendigits import load_pendigits
from mercer.datasets.tables.shuttle import load_shuttle

__all__ = [
    "CATALOGUE",
    "load_20newsgroups",
    "load_adult",
    "load_covtype",
    "load_fashion_mnist",
    "load_ijcnn1",
    "load_kos",
    "load_massbank",
    "load_microbiome",
    "load_molecules",
    "load_pendigits",
    "load_scenes_sift",
    "load_sector",
    "load_shuttle",
    "load_sift",
    "make_compositions",
    "make_fingerprints",
    "make_scenes_sift",
    "make_spectra",
]
