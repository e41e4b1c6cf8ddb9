"""Where an index lies in a store, and how: what is written down beside its table or collection."""

__all__ = ["Layout", "metric_of"]

from dataclasses import asdict, dataclass, fields

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.parameters import check_parameters
from mercer._base.parameters.search import LAYOUT, VECTORS
from mercer.search.columns.types import NO_COLUMNS, DataTypes, columns_in
from mercer.search.model.measure import Measure
from mercer.search.rows.vectors import VectorFormat

FORMAT = 1  # of the layout, the artifact and the bytes of rows
DTYPES = ("float32", "float16")
METRICS = ("inner product", "distance")
KEPT = ("float32", "float16", "uint8")


@dataclass(frozen=True)
class Layout:
    """How the rows of an index are kept in a store.

    Attributes
    ----------
    name : table (``schema.table`` where the schema is not the first of the search path) or collection
    width : numbers of an embedded row
    metric : "inner product" or "distance", by which the store ranks embedded rows
    ids : "numbers", "texts", or None before the table has been looked at
    dtype : "float32" or "float16", of embedded rows
    method : "hnsw", a graph, or "exact", a scan
    m, ef_construction : of the graph: neighbors of a node, and candidates while it is built
    id_column, embedding_column, row_column : names of columns
    kept : number type in which rows are kept for exact values: "float32", "float16", "uint8" or None
    sparse, n_features : of these rows
    oversample : candidates for each row that is asked for
    own : whether Mercer made the table, so that removing a row from the index deletes it
    data : columns of the index that the store keeps as well, under their names
    """

    name: str
    width: int
    metric: str
    ids: str | None
    n_features: int
    kept: str | None = "float32"
    sparse: bool = False
    dtype: str = "float32"
    method: str = "hnsw"
    m: int = 16
    ef_construction: int = 128
    id_column: str = "id"
    embedding_column: str = "embedding"
    row_column: str = "features"
    oversample: float = 10
    own: bool = True
    data: DataTypes = NO_COLUMNS

    def __post_init__(self):
        check_parameters(self, LAYOUT, "KernelIndex.push")
        VECTORS.check(self.kept, "KernelIndex.push")
        if self.method == "hnsw" and self.ef_construction < 2 * self.m:
            raise InputError(
                f"KernelIndex.push needs ef_construction >= 2 m; got m={self.m} and "
                f"ef_construction={self.ef_construction}."
            )
        columns = (self.id_column, self.embedding_column, self.row_column)
        for name in (self.name, *columns):
            if not isinstance(name, str) or not name or "\0" in name:
                raise InputError(f"A table, collection or column must have a name; got {name!r:.80}.")
        if len(set(columns)) < len(columns):
            raise InputError(f"KernelIndex.push needs three different columns, got {', '.join(map(repr, columns))}.")
        taken = next((name for name in self.data.names if name in columns), None)
        if taken is not None:
            raise InputError(
                f"KernelIndex.push cannot store the column {taken!r} of the index, because a column that push makes "
                f"itself is also named {taken!r}. Rename the latter with id_column=, embedding_column= or row_column=."
            )

    @property
    def vectors(self):
        """How rows are kept, or None."""
        return None if self.kept is None else VectorFormat(self.kept, self.sparse, self.n_features)

    def document(self):
        """As plain values, ready for JSON."""
        plain = {name: value.item() if hasattr(value, "item") else value for name, value in asdict(self).items()}
        data = plain.pop("data")  # left out if there is none, so that earlier versions read what they can
        return {"format": FORMAT, **plain, **({"data": list(data)} if data else {})}

    @classmethod
    def of_document(cls, document, where):
        """The way back; a layout of a later version is refused."""
        known = {field.name for field in fields(cls)}
        version = document.get("format") if isinstance(document, dict) else None
        if version != FORMAT:
            raise InputError(
                f"{where} was written in format {version!r:.20}; this version of Mercer reads format {FORMAT}. "
                "Install a matching version, or push the index again."
            )
        if {*document, "data"} - {"format"} != known:
            raise InputError(f"{where} has a description that was not written by Mercer. Push the index again.")
        try:
            return cls(**{name: document[name] for name in known - {"data"}}, data=columns_in(document))
        except (InputError, FileProblem) as error:
            raise InputError(
                f"{where} has a description that was not written by Mercer: {error} Push the index again."
            ) from None

    def check_model(self, model, where):
        """Refuse a description that is not of this model: its rows would be read wrongly."""
        wanted = {
            "n_features": model.n_features_in_,
            "width": model.embedding_._n_features_out,
            "metric": metric_of(Measure.of(model)),
        }
        for name, value in wanted.items():
            if getattr(self, name) != value:
                raise InputError(
                    f"{where} has a description with {name}={getattr(self, name)!r}, but its embedding has {value!r}. "
                    "Another program changed the description. Push the index again with replace=True."
                )


def metric_of(measure):
    """What ranks embedded rows: the inner product is the kernel; only rows of unequal K(x, x) need distances."""
    return "distance" if measure.is_distance and not measure.unit_diagonal else "inner product"
