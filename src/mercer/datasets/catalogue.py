"""What the loaders know: which sets there are, their parts and sizes, where the files come from, which are there."""

__all__ = ["CATALOGUE", "DataPart", "DataSet"]

from dataclasses import dataclass
from typing import NamedTuple

from mercer.datasets.chemistry import massbank as _massbank
from mercer.datasets.chemistry import molecules as _molecules
from mercer.datasets.counts import kos as _kos
from mercer.datasets.counts import microbiome as _microbiome
from mercer.datasets.counts import newsgroups as _newsgroups
from mercer.datasets.files import data_root, is_there
from mercer.datasets.images import fashion_mnist as _fashion_mnist
from mercer.datasets.images import scenes_sift as _scenes_sift
from mercer.datasets.images import sift as _sift
from mercer.datasets.tables import covtype as _covtype
from mercer.datasets.tables import libsvm as _libsvm
from mercer.datasets.tables import pendigits as _pendigits
from mercer.datasets.tables import shuttle as _shuttle


class DataPart(NamedTuple):
    """One part of a data set.

    Attributes
    ----------
    files : tuple of tuples of str, the files it needs, each with the names it may have
    n_rows, n_columns : size of what the loader gives
    """

    files: tuple[tuple[str, ...], ...]
    n_rows: int
    n_columns: int


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Attributes
    ----------
    name : what it is called, which is its loader's name without ``load_``
    folder : where its files are, below the directory of the data sets
    origin : where they come from
    parts : name of a part -> :class:`DataPart`; the name of the only part of a set without parts is ``""``
    elsewhere : (directory of data sets, folder) that is looked at too, or None
    recipe : whether the set is made by ``mercer datasets NAME`` from files of another one
    """

    name: str
    folder: str
    origin: str
    parts: dict[str, DataPart]
    elsewhere: tuple[str, str] | None = None
    recipe: bool = False

    @property
    def loader(self):
        """Name of the function in ``mercer.datasets``."""
        return f"load_{self.name.replace('-', '_')}"

    def is_found(self, part, root=None):
        """Whether all files of a part are there; their checksums are compared when they are loaded."""
        return self.place_of(part, root) is not None

    def place_of(self, part, root=None):
        """The directory with all files of a part, or None."""
        places = [(root, self.folder)]
        if self.elsewhere is not None and root is None:
            places.append(self.elsewhere)
        needed = self.parts[part].files
        found = (
            data_root(place) / folder
            for place, folder in places
            if all(any(is_there(folder, name, place) for name in names) for names in needed)
        )
        return next(found, None)


def _parts(known, n_columns, *more):
    """Parts of a table part -> (file, rows, ...), each of which needs the files ``more`` too."""
    others = tuple((name,) for name in more)
    return {part: DataPart(((name,), *others), n_rows, n_columns) for part, (name, n_rows, *_) in known.items()}


def _idx_parts(known):
    return {
        part: DataPart(((f"{start}-images-idx3-ubyte",), (f"{start}-labels-idx1-ubyte",)), n_rows, 784)
        for part, (start, n_rows, *_) in known.items()
    }


def _covtype_parts():
    n_rows = {part: len(range(_covtype.N_ROWS)[rows]) for part, rows in _covtype.PARTS.items()}
    return {part: DataPart((tuple(_covtype.FILES),), n, _covtype.N_FEATURES) for part, n in n_rows.items()}


def _microbiome_parts():
    parts = {}
    for part, (table, task, n_rows, _) in _microbiome.PARTS.items():
        name, _, n_taxa, _ = _microbiome.TABLES[table]
        parts[part] = DataPart(((name,), (task,)) if task else ((name,),), n_rows, n_taxa)
    return parts


_SETS = (
    DataSet(
        "20newsgroups", "20newsgroups", _newsgroups.ORIGIN,
        _parts(_newsgroups.PARTS, _newsgroups.N_WORDS, "labels.npz"),
    ),
    DataSet("adult", "adult_a9a", _libsvm.ADULT_ORIGIN, _parts(_libsvm.ADULT, 123)),
    DataSet("covtype", "covtype", _covtype.ORIGIN, _covtype_parts()),
    DataSet(
        "fashion_mnist", _fashion_mnist.FOLDER, _fashion_mnist.ORIGIN, _idx_parts(_fashion_mnist.PARTS),
        elsewhere=_fashion_mnist.DEBIAN,
    ),
    DataSet("ijcnn1", "ijcnn1", _libsvm.IJCNN1_ORIGIN, _parts(_libsvm.IJCNN1, 22)),
    DataSet("kos", _kos.FOLDER, _kos.ORIGIN, {"": DataPart(((_kos.NAME,),), _kos.N_ENTRIES, _kos.N_WORDS)}),
    DataSet(
        "massbank", "massbank", _massbank.ORIGIN,
        {"": DataPart((("massbank_ms2.npz",),), _massbank.N_SPECTRA, int(10 * _massbank.LARGEST_MZ))},
    ),
    DataSet("microbiome", "microbiome", _microbiome.ORIGIN, _microbiome_parts()),
    DataSet(
        "molecules", "molecules", _molecules.ORIGIN, {"": DataPart(((_molecules.NAME,),), _molecules.N_MOLECULES, 1)}
    ),
    DataSet("pendigits", "pendigits", _pendigits.ORIGIN, _parts(_pendigits.PARTS, 16)),
    DataSet(
        "scenes-sift", _scenes_sift.FOLDER, _scenes_sift.ORIGIN, _parts(_scenes_sift.PARTS, _scenes_sift.WIDTH),
        recipe=True,
    ),
    DataSet("sector", "sector", _libsvm.SECTOR_ORIGIN, _parts(_libsvm.SECTOR, 55_197)),
    DataSet("shuttle", "shuttle", _shuttle.ORIGIN, _parts(_shuttle.PARTS, _shuttle.N_FEATURES)),
    DataSet(
        "sift", "sift", _sift.ORIGIN,
        {part: DataPart(((name,),), n_rows, width) for part, (name, n_rows, width, _) in _sift.PARTS.items()},
    ),
)  # fmt: skip
CATALOGUE = {known.name: known for known in _SETS}
