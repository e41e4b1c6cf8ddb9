"""``mercer wire ask``: the bits of rows to a running service, and its answers."""

__all__ = ["EXAMPLES", "ask"]

from typing import Any

from mercer._base.errors import MercerError
from mercer._base.parameters import argument, integer, text
from mercer._base.tables import ArgumentError, Features, RowSource, open_for_writing
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import lines_of, note, print_json, progress
from mercer.cli.framework.shared import DATA
from mercer.cli.models.learning import answers, missing_facts, open_data, spread
from mercer.cli.serve import token_of

EXAMPLES = """
  mercer wire ask http://127.0.0.1:8321 new.npy
  mercer wire ask http://127.0.0.1:8321 new.npy --bits 64 --token-file token.txt
  mercer wire ask http://127.0.0.1:8321 new.npy --neighbors 5
"""
_BYTES_PER_ROW = 1024  # of an answer, roughly


@options((
    argument("url", "URL", "Address that mercer serve printed."),
    DATA,
    integer("bits", None, "Bits per code, one of the rates of the service.", shown="the largest", least=1),
    integer("neighbors", None, "Find the K nearest rows of the index of the service instead of "
        "classes.", "K", least=1),
    text("token_file", None, "File with the token of the service.", "FILE",
        shown="the variable MERCER_TOKEN, if set"),
), examples=EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def ask(url, x, bits, neighbors, token_file, rules, settings: Settings) -> None:
    """Send the bits of rows to a service, and print the class of each row, one per line.

    The command fetches the embedding from the service and encodes the rows locally, so only bits are sent. With
    --neighbors, each line holds the ids of the nearest rows, nearest first.
    """  # fmt: skip
    from mercer.serving import Client, ServiceError

    try:
        client = Client(url, token=token_of(settings, token_file), bits=bits)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    question = client.classify if neighbors is None else lambda rows: client.neighbours(rows, neighbors)
    try:
        embedding = client.embedding
        names = client.columns
        columns = Features(None if names is None else tuple(names), embedding.n_features, tuple(client.other_columns))
        data = open_data(settings, x, rules | {"needs_labels": False}, columns)
        with progress(settings):
            found = list(answers(data, lambda rows: question(_dense(rows)), bytes_per_row=_BYTES_PER_ROW))
    except ServiceError as error:
        away = f" Is a service running at {url}?" if error.status is None else ""
        raise MercerError(f"{error}{away}") from error
    sent = f"{data.shape[0]} rows asked in {embedding.n_bits} bits, {embedding.n_bytes} bytes each"
    if settings.json:
        document = {"url": url, "data": data.name, "rows": data.shape[0], "bits": embedding.n_bits}
        print_json(document | {"embedding": embedding.fingerprint} | missing_facts(data) | _document(found, data))
    else:
        lines = [line for part in found for line in (part.labels if neighbors is None else part.ids).tolist()]
        words = [line if isinstance(line, list) else [line] for line in spread(lines, data, [""])]
        if data.ids_in_file is not None:
            words = [[id, *line] for id, line in zip(data.ids_in_file.tolist(), words, strict=True)]
        with open_for_writing("-") as stream:
            stream.write(lines_of(words))
    note(settings, sent)


def _dense(rows):
    return rows.toarray() if hasattr(rows, "indptr") else rows


def _document(found, data: RowSource) -> dict[str, Any]:
    """The answers to all blocks, by name; classes and the checksum of the model are the same for all."""
    joined: dict[str, Any] = {} if data.ids_in_file is None else {"row_ids": data.ids_in_file}
    for name in found[0]._fields:
        parts = [getattr(part, name) for part in found]
        if name in ("classes", "model"):
            joined[name] = parts[0]
        elif name != "bits" and parts[0] is not None:
            joined[name] = spread([row for part in parts for row in part.tolist()], data, None)
    return joined
