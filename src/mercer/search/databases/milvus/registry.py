"""The collection ``mercer_indexes``: which collection holds an index, how, and with which embedding.

Milvus keeps texts of 65,535 bytes at most, so a model stands there as numbered pieces in base64; piece 0 is the
description. A field of vectors is there because Milvus wants one.
"""

__all__ = ["Registry"]

import base64
import json

from mercer._base.errors import InputError, StoreError
from mercer.search.databases.layout import Layout
from mercer.search.databases.milvus.session import literal

COLLECTION = "mercer_indexes"
PIECE = 60_000  # letters
NO_VECTOR = [0.0, 0.0]


class Registry:
    """What is written down about one collection."""

    def __init__(self, session, name):
        self._session, self._client, self.name = session, session.client, name

    def _exists(self):
        """Whether there is any index; if so, the collection can be asked (a file that is opened anew is not loaded)."""
        with self._session.errors():
            if not self._client.has_collection(COLLECTION):
                return False
            self._client.load_collection(COLLECTION)
            return True

    def _create(self):
        kinds = self._session.pymilvus.DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("key", kinds.VARCHAR, is_primary=True, max_length=300)
        schema.add_field("name", kinds.VARCHAR, max_length=255)
        schema.add_field("piece", kinds.INT64)
        schema.add_field("content", kinds.VARCHAR, max_length=65_535)
        schema.add_field("nothing", kinds.FLOAT_VECTOR, dim=len(NO_VECTOR))
        indexes = self._client.prepare_index_params()
        indexes.add_index("nothing", index_type="FLAT", metric_type="L2")
        self._session.create_collection(COLLECTION, schema, indexes)

    def write(self, layout, fingerprint, model):
        """Write down a new index."""
        text = base64.b64encode(model).decode()
        pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
        head = {"layout": layout.document(), "fingerprint": fingerprint, "pieces": len(pieces)}
        entries = [json.dumps(head), *pieces]
        with self._session.errors():
            if not self._exists():
                self._create()
            for number, content in enumerate(entries):
                row = {"key": f"{self.name}/{number}", "name": self.name, "piece": number, "content": content}
                self._client.upsert(COLLECTION, [{**row, "nothing": NO_VECTOR}])

    def _query(self, filter, fields):
        with self._session.errors():
            return self._client.query(COLLECTION, filter=filter, output_fields=fields, consistency_level="Strong")

    def _head(self):
        found = self._query(f"key == {literal(f'{self.name}/0')}", ["content"])
        return json.loads(found[0]["content"]) if found else None

    def read(self):
        """(layout, fingerprint, model), or None if there is no index."""
        head = self._head() if self._exists() else None
        if head is None:
            return None
        where = f"The collection {self.name} of {self._session.name}"
        layout = Layout.of_document(head["layout"], where)
        pieces = [self._query(f"key == {literal(f'{self.name}/{n + 1}')}", ["content"]) for n in range(head["pieces"])]
        if not all(pieces):
            raise StoreError(f"{where} is missing part of its embedding. Push the index again.")
        return layout, head["fingerprint"], base64.b64decode("".join(piece[0]["content"] for piece in pieces))

    def names(self):
        """The indexes that there are."""
        if not self._exists():
            return []
        return sorted({row["name"] for row in self._query("piece == 0", ["name"])})

    def erase(self):
        """Forget the index."""
        with self._session.errors():
            self._client.delete(COLLECTION, filter=f"name == {literal(self.name)}")

    def check(self, fingerprint):
        """Refuse if the index is gone or belongs to another embedding by now."""
        head = self._head()
        if head is None:
            raise StoreError(f"{self._session.name} has no index in the collection {self.name} anymore.")
        if head["fingerprint"] != fingerprint:
            raise InputError(
                f"The collection {self.name} of {self._session.name} has got a different embedding since it was "
                f"opened (fingerprint {head['fingerprint']}, not {fingerprint}). Connect again."
            )
