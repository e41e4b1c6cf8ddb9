"""`KernelIndex.push` and `KernelIndex.connect`: an index is brought into a database, and opened there again."""

__all__ = ["connect", "push"]

from mercer._base.errors import InputError
from mercer._base.parameters import named
from mercer._base.parameters.search import INDEX
from mercer._base.progress import track
from mercer.search.databases.artefact import artefact, embedded, fingerprint, from_artefact
from mercer.search.databases.index import StoreIndex
from mercer.search.databases.layout import Layout, metric_of
from mercer.search.databases.places import store_at
from mercer.search.databases.row_bytes import as_bytes
from mercer.search.model.measure import Measure
from mercer.search.model.model import SearchModel
from mercer.search.rows.packing import ADD_ROWS


def push(
    index,
    place,
    name,
    *,
    replace=False,
    method="hnsw",
    m=16,
    ef_construction=128,
    dtype="float32",
    vectors="same",
    ids=None,
    id_column="id",
    embedding_column="embedding",
    row_column="features",
):
    """Copy the embedding and all rows to PostgreSQL or Milvus.

    Parameters
    ----------
    place : ``"postgresql://..."``, ``"milvus://..."``, a ``psycopg.Connection`` or a ``pymilvus.MilvusClient``
        ``milvus://HOST:PORT`` is a server, ``milvus://FILE.db`` Milvus Lite. On a connection of your own,
        everything is part of its transaction: commit it, unless it has autocommit.
    name : str
        Table or collection. An existing table gets two more columns, and its rows are matched by their ids. The
        columns of ``data`` are copied under their names.
    replace : bool
        Whether to replace an existing index with this name.
    method : {"hnsw", "exact"}
        A graph with ``m`` neighbors per row, built with ``ef_construction`` candidates; or a scan of all rows.
    dtype : {"float32", "float16"}
        Of embedded rows: ``vector`` or ``halfvec``.
    vectors : {"same", None}
        Store the rows as the index does, or not at all.
    ids : {"numbers", "texts", None}
        Type of the ids. None uses the type of the ids in the index, or else in the table, or else numbers.
    id_column, embedding_column, row_column : str

    Returns
    -------
    StoreIndex
    """
    rows = index.rows_
    if len(rows):
        rows.check_kept("KernelIndex.push")
    if not rows.model.embeds:
        raise InputError("KernelIndex.push needs embedded rows, which store='lists' does not have. Use store='codes'.")
    if vectors not in ("same", None):
        raise InputError(f"KernelIndex.push needs vectors to be 'same' or None; got {vectors!r:.80}.")
    kept = rows.vectors if vectors == "same" else None
    layout = Layout(
        name=name,
        width=rows.model.embedding_._n_features_out,
        metric=metric_of(Measure.of(rows.model)),
        ids=_type_of_ids(rows, ids),
        n_features=rows.model.n_features_in_,
        kept=kept.name if kept else None,
        sparse=bool(rows.vectors and rows.vectors.is_sparse),
        dtype=dtype,
        method=method,
        m=m,
        ef_construction=ef_construction,
        id_column=id_column,
        embedding_column=embedding_column,
        row_column=row_column,
        oversample=index.oversample,
        data=rows.data,
    )
    model = from_artefact(artefact(rows.model), "This index")  # a copy: the handle may use other threads
    store = store_at(place)
    try:
        layout = _fill(store, layout, model, rows, kept, replace)
    except BaseException:
        store.close()
        raise
    return StoreIndex(store, layout, model, store.fingerprint, n_jobs=index.n_jobs)


def connect(place, name, *, model=None, rows=None, oversample=None, embedding_column="embedding", n_jobs=None):
    """Connect to an index in PostgreSQL or Milvus.

    Parameters
    ----------
    place : address, ``psycopg.Connection`` or ``pymilvus.MilvusClient``
        As for `push`.
    name : str
        Table or collection.
    model : KernelIndex, SearchModel or None
        None uses the embedding stored in the database. Another embedding must have the same fingerprint, because
        inner products of two embeddings are meaningless.
    rows : function of a list of ids, or None
        Function that returns the rows of these ids, in their order, for exact values. None uses the stored rows.
    oversample : float or None
        None uses the value of the index that was pushed.
    embedding_column : str

    Returns
    -------
    StoreIndex
    """
    if oversample is not None:
        named(INDEX)["oversample"].check(oversample, "KernelIndex.connect")
    if rows is not None and not callable(rows):
        raise InputError(f"KernelIndex.connect needs rows to be a function of a list of ids; got {rows!r:.80}.")
    store = store_at(place, new=False)
    try:
        layout, written, data = store.open(name, embedding_column)
        kept = from_artefact(data, f"{name} of {store.place}")
        _check_same(kept, written, model, f"{name} of {store.place}")
        layout.check_model(kept, f"{name} of {store.place}")
    except BaseException:
        store.close()
        raise
    index = StoreIndex(store, layout, kept, written, rows, n_jobs)
    index.oversample = oversample or layout.oversample
    return index


def _type_of_ids(rows, wanted):
    """Numbers or texts: the column of a table has one type. What was asked for if there are no rows."""
    if not len(rows):
        return wanted
    kinds = {isinstance(value, str) for value in rows.ids.at(rows.alive).tolist()} if rows.ids.has_texts else {False}
    if len(kinds) > 1:
        raise InputError("KernelIndex.push needs ids that are all integers or all strings, but this index has both.")
    found = "texts" if True in kinds else "numbers"
    if wanted not in (None, found):
        raise InputError(f"KernelIndex.push got ids={wanted!r:.80}, but the ids of this index are {found}.")
    return found


def _fill(store, layout, model, rows, kept, replace):
    """Everything in one step, where the store has such steps; the layout as it then is."""
    with store.changes():
        if replace:
            store.drop_if_there(layout.name, layout.embedding_column)
        layout = store.create(layout, fingerprint(model), artefact(model))
        try:
            alive = rows.alive
            if len(alive):
                store.insert(rows.ids.at(alive).tolist(), _blocks(model, rows, kept, alive), rows.values(alive))
            store.finish()
        except BaseException:
            store.abandon()
            raise
    return layout


def _blocks(model, rows, kept, alive):
    """(embedded rows, kept rows as bytes) of all rows, block by block, in the order of the storage."""
    total = -(-len(alive) // ADD_ROWS)
    for number, arrays in enumerate(track(rows.batches(), "Pushing rows", total=total)):
        positions = alive[number * ADD_ROWS : (number + 1) * ADD_ROWS]
        kept_rows = as_bytes(kept, arrays) if kept else [None] * len(positions)
        yield embedded(model, rows.take(positions)), kept_rows


def _check_same(kept, written, model, where):
    """Refuse an artifact that is not what was written down, and another embedding."""
    found = fingerprint(kept)
    if found != written:
        raise InputError(
            f"{where} contains an embedding with fingerprint {found}, but was filled with {written}. Another program "
            "changed its description. Push the index again."
        )
    if model is None:
        return
    model = getattr(model, "model_", model)
    if not isinstance(model, SearchModel):
        raise InputError(f"KernelIndex.connect needs model to be a KernelIndex or SearchModel; got {model!r:.80}.")
    own = fingerprint(model)
    if own != written:
        raise InputError(
            f"{where} was filled with a different embedding (fingerprint {written}) than this one ({own}). Connect "
            "without model= to use the embedding of the store, or push this index under another name."
        )
