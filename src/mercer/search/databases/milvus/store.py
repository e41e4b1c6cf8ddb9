"""Embedded rows in a collection of Milvus: a server, or Milvus Lite in this process."""

__all__ = ["MilvusStore"]

import base64
import re
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from mercer._base.errors import InputError
from mercer.search.databases.external import Candidates
from mercer.search.databases.milvus.conditions import as_expression, as_field
from mercer.search.databases.milvus.registry import COLLECTION, Registry
from mercer.search.databases.milvus.session import Session, among, literal

METRICS = {"inner product": "IP", "distance": "L2"}
LONGEST_TEXT = 65_535  # bytes of a text in Milvus
MOST_FOUND = 16_384  # rows of one answer
LEAST_LIST = 100
KNOWN_IDS = 4096  # looked for at a time
WIDEST = 32_768
FIELDS = {
    "integer": "INT64",
    "float": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOL",
    "date": "INT64",
    "timestamp": "INT64",
}
BATCH_BYTES = 2**25  # of a message, which may have 64 MB


class MilvusStore:
    """The collection of an index.

    Parameters
    ----------
    place : a ``milvus://`` address or a ``pymilvus.MilvusClient``
    new : bool
        Whether a file that is not there may be made.
    """

    language = "the expressions of Milvus"
    has_transactions = False

    def __init__(self, place, new=True):
        self._session = Session(place, new)
        self._client = self._session.client
        self.place = self._session.name

    # ---------------------------------------------------------------------------------------------- create and open

    def create(self, layout, fingerprint, model):
        _check_names(layout)
        layout = replace(layout, ids=layout.ids or "numbers")
        if layout.width > WIDEST:
            raise InputError(f"This embedding has {layout.width:,} dimensions, but Milvus supports at most {WIDEST:,}.")
        registry = Registry(self._session, layout.name)
        if registry.read() is not None:
            raise InputError(
                f"The collection {layout.name} of {self.place} already holds an index. Connect to it, push with "
                "replace=True, or name another collection."
            )
        with self._session.errors():
            if self._client.has_collection(layout.name):
                raise InputError(
                    f"{self.place} has a collection {layout.name} that is not an index of Mercer. Name another "
                    "collection."
                )
            self._use(layout, fingerprint)
            self._create_collection()
        registry.write(layout, fingerprint, model)
        return layout

    def _create_collection(self):
        layout, client, kinds = self.layout, self._client, self._session.pymilvus.DataType
        schema = client.create_schema(auto_id=False, enable_dynamic_field=True)
        if layout.ids == "texts":
            schema.add_field(layout.id_column, kinds.VARCHAR, is_primary=True, max_length=LONGEST_TEXT)
        else:
            schema.add_field(layout.id_column, kinds.INT64, is_primary=True)
        vector = kinds.FLOAT16_VECTOR if layout.dtype == "float16" else kinds.FLOAT_VECTOR
        schema.add_field(layout.embedding_column, vector, dim=layout.width)
        if layout.kept is not None:
            schema.add_field(layout.row_column, kinds.VARCHAR, max_length=LONGEST_TEXT)
        for each in layout.data:
            length = {"max_length": LONGEST_TEXT} if each.type == "text" else {}
            schema.add_field(each.name, getattr(kinds, FIELDS[each.type]), nullable=True, **length)
        graph = {"M": layout.m, "efConstruction": layout.ef_construction}
        kind, how = ("HNSW", graph) if layout.method == "hnsw" else ("FLAT", {})
        indexes = client.prepare_index_params()
        indexes.add_index(layout.embedding_column, index_type=kind, metric_type=METRICS[layout.metric], params=how)
        self._session.create_collection(layout.name, schema, indexes)

    def open(self, name, embedding_column):
        registry = Registry(self._session, name)
        found = registry.read()
        if found is None:
            there = registry.names()
            raise InputError(
                f"{self.place} has no index of Mercer in the collection {name}; there "
                f"{'are: ' + ', '.join(there) if there else 'are none'}. Use KernelIndex.push."
            )
        layout, fingerprint, model = found
        self._use(layout, fingerprint)
        with self._session.errors():
            if not self._client.has_collection(name):
                raise InputError(
                    f"The collection {name} of {self.place} held an index, but another program dropped it. Push the "
                    "index again with replace=True."
                )
            self._client.load_collection(name)
        return layout, fingerprint, model

    def _use(self, layout, fingerprint):
        self.layout, self.fingerprint = layout, fingerprint
        self._registry = Registry(self._session, layout.name)

    def finish(self):
        """The graph is Milvus's business; what was sent is sealed so that it begins at once."""
        with self._session.errors():
            self._client.flush(self.layout.name)

    def drop_if_there(self, name, embedding_column):
        registry = Registry(self._session, name)
        if registry.read() is not None:
            registry.erase()
            self._drop_collection(name)

    def drop(self):
        self._registry.erase()
        self._drop_collection(self.layout.name)

    def _drop_collection(self, name):
        with self._session.errors():
            if self._client.has_collection(name):  # somebody else may have dropped it
                self._client.drop_collection(name)

    def abandon(self):
        self.drop()

    # ------------------------------------------------------------------------------------------------------- writing

    def insert(self, ids, blocks, payload):
        known = self._to_be_changed(ids)
        taken = next((value for value in ids if value in known), None)
        if taken is not None:
            raise InputError(
                f"KernelIndex.add got the id {taken!r}, which is already in the index. Nothing was added. Use update."
            )
        with self._session.errors():
            for batch in self._messages(ids, blocks, payload):
                self._client.insert(self.layout.name, batch)

    def update(self, ids, blocks, payload):
        self._check_known(ids, "update")
        with self._session.errors():
            for batch in self._messages(ids, blocks, payload):
                self._client.upsert(self.layout.name, batch, partial_update=True)  # other fields stay

    def delete(self, ids):
        self._check_known(ids, "remove")
        with self._session.errors():
            self._client.delete(self.layout.name, filter=among(self.layout.id_column, ids))

    def _to_be_changed(self, ids):
        self._registry.check(self.fingerprint)
        return self.known(ids)

    def _check_known(self, ids, verb):
        known = self._to_be_changed(ids)
        unknown = next((value for value in ids if value not in known), None)
        if unknown is not None:
            raise InputError(f"KernelIndex.{verb} found no row with the id {unknown!r}. Nothing was changed.")

    def _messages(self, ids, blocks, payload):
        start = 0
        for Z, rows in blocks:
            part = slice(start, start + len(Z))
            yield from self._entities(ids[part], Z, rows, {name: values[part] for name, values in payload.items()})
            start = part.stop

    def _entities(self, ids, Z, rows, payload):
        """Lists of entities, as many at a time as a message holds."""
        layout = self.layout
        texts = [None if row is None else base64.b64encode(row).decode() for row in rows]
        longest = max((len(text) for text in texts if text is not None), default=0)
        if longest > LONGEST_TEXT:
            raise InputError(
                f"Milvus stores at most {LONGEST_TEXT:,} characters in a field, but a row needs {longest:,}. Store "
                "the rows elsewhere: push with vectors=None and connect with rows=..."
            )
        Z = Z.astype(np.float16 if layout.dtype == "float16" else np.float32)
        size = max(1, BATCH_BYTES // (Z.shape[1] * Z.itemsize + longest + 64 * (1 + len(payload))))
        for start in range(0, len(ids), size):
            yield [
                {layout.id_column: ids[i], layout.embedding_column: Z[i]}
                | ({layout.row_column: texts[i]} if layout.kept else {})
                | {name: as_field(values[i]) for name, values in payload.items()}
                for i in range(start, min(start + size, len(ids)))
            ]

    # ------------------------------------------------------------------------------------------------------- looking

    def search(self, Z, k, condition, ef, rows):
        if k > MOST_FOUND:
            raise InputError(
                f"Milvus returns at most {MOST_FOUND:,} candidates per query, but oversample * k is {k:,}. Lower one "
                "of them."
            )
        layout = self.layout
        length = max(k, LEAST_LIST if ef is None else ef)  # Milvus wants it at least k
        with self._session.errors():
            answer = self._client.search(
                layout.name,
                data=list(Z.astype(np.float16) if layout.dtype == "float16" else Z),
                anns_field=layout.embedding_column,
                limit=k,
                filter=self._expression(condition),
                output_fields=[layout.row_column] if rows else [layout.id_column],
                search_params={"params": {"ef": length} if layout.method == "hnsw" else {}},
                consistency_level="Strong",
            )
        return [self._candidates(hits, rows) for hits in answer]

    def _candidates(self, hits, rows):
        sign = 1.0 if self.layout.metric == "inner product" else -1.0  # its distances are squared
        ids = [hit[self.layout.id_column] for hit in hits]
        kept = [base64.b64decode(hit["entity"][self.layout.row_column]) if rows else None for hit in hits]
        return Candidates(ids, [sign * hit["distance"] for hit in hits], kept)

    def scan(self, condition, size, rows):
        layout, last = self.layout, None
        fields = [layout.id_column, *([layout.row_column] if rows else [])]
        while True:
            block = self._after(last, condition, size, fields)
            if not block:
                return
            ids = [entity[layout.id_column] for entity in block]
            kept = [base64.b64decode(entity[layout.row_column]) if rows else None for entity in block]
            yield Candidates(ids, [], kept)
            last = ids[-1]

    def _after(self, last, condition, size, fields):
        """The next rows in the order of ids. pymilvus's iterator stumbles over quotes in texts, so this is our own."""
        parts = [self._expression(condition), "" if last is None else f"{self.layout.id_column} > {literal(last)}"]
        expression = " and ".join(f"({part})" for part in parts if part)
        with self._session.errors():
            return self._client.query(
                self.layout.name,
                filter=expression,
                limit=size,
                output_fields=fields,
                consistency_level="Strong",
                iterator="True",  # in the order of ids
                reduce_stop_for_best="True",
            )

    def _expression(self, condition):
        if condition is None:
            return ""
        if condition.values is not None:
            raise InputError("Not every version of Milvus supports separate values. Write them into the filter.")
        parts = [
            condition.ids is not None and among(self.layout.id_column, condition.ids),
            condition.text,
            condition.tree is not None and as_expression(condition.tree),
        ]
        return " and ".join(f"({part})" for part in parts if part)

    def explain(self, z, k, condition):
        with self._session.errors():
            found = self._client.describe_index(self.layout.name, self.layout.embedding_column)
        return ", ".join(f"{name}: {value}" for name, value in found.items())

    def known(self, ids):
        column, found = self.layout.id_column, set()
        for start in range(0, len(ids), KNOWN_IDS):
            some = among(column, ids[start : start + KNOWN_IDS])
            with self._session.errors():
                answer = self._client.query(
                    self.layout.name, filter=some, output_fields=[column], consistency_level="Strong"
                )
            found.update(entity[column] for entity in answer)
        return found

    def count(self):
        with self._session.errors():
            found = self._client.query(self.layout.name, output_fields=["count(*)"], consistency_level="Strong")
        return found[0]["count(*)"]

    @contextmanager
    def transaction(self):
        """Milvus has none: what was done stays."""
        yield

    changes = transaction

    def close(self):
        self._session.close()


# The words of Milvus's grammar, Plan.g4, and "is", which Milvus Lite reads alone. It writes them in small or in capital
# letters; in between they would be names, but not to Milvus Lite.
WORDS = frozenset(
    ["and", "exists", "false", "in", "interval", "is", "iso", "like", "minimum_should_match", "not", "null", "or"]
    + ["element_filter", "phrase_match", "random_sample", "text_match", "threshold", "true", "array_length"]
    + [f"{kind}_contains{which}" for kind in ("array", "json") for which in ("", "_all", "_any")]
    + [f"match_{which}" for which in ("all", "any", "exact", "least", "most")]
    + [f"st_{which}" for which in ("contains", "crosses", "dwithin", "equals", "intersects", "isvalid", "overlaps")]
    + ["st_touches", "st_within"]
)


def _check_names(layout):
    names = (layout.name, layout.id_column, layout.embedding_column, layout.row_column, *layout.data.names)
    strange = next((name for name in names if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,254}", name)), None)
    if strange is not None or layout.name == COLLECTION:
        raise InputError(
            "Milvus needs names of letters, digits and underscores that do not start with a digit, and "
            f"{COLLECTION!r} is reserved; got {strange or layout.name!r:.80}."
        )
    word = next((name for name in names[1:] if name.lower() in WORDS), None)
    if word is not None:
        raise InputError(f"{word!r} is a reserved word of Milvus and cannot name a column. Rename the column.")
