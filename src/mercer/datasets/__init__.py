"""Loaders of real data sets, from files that the user has; nothing is downloaded.

Files are looked for in the directory that ``MERCER_DATA`` names, in a folder for each data set, plain or packed (gz,
bz2, xz). Their checksums are verified, so that a measurement on them means the same everywhere. One set is made from
other files, by a recipe (:func:`make_scenes_sift`). :func:`make_spectra`, :func:`make_fingerprints` and
:func:`make_compositions` make up rows of the same shape, for examples that must run without any file.
"""

from mercer.datasets._covtype import load_covtype
from mercer.datasets._fashion_mnist import load_fashion_mnist
from mercer.datasets._kos import load_kos
from mercer.datasets._libsvm import load_adult, load_ijcnn1, load_sector
from mercer.datasets._massbank import load_massbank
from mercer.datasets._microbiome import load_microbiome
from mercer.datasets._molecules import load_molecules
from mercer.datasets._newsgroups import load_20newsgroups
from mercer.datasets._pendigits import load_pendigits
from mercer.datasets._scenes_sift import load_scenes_sift, make_scenes_sift
from mercer.datasets._shuttle import load_shuttle
from mercer.datasets._sift import load_sift
from mercer.datasets._synthetic import make_compositions, make_fingerprints, make_spectra

__all__ = [
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
