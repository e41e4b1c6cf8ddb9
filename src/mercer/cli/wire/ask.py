"""``mercer wire ask``: the bits of rows, a table or a picture to a running service, and its answers."""

__all__ = ["EXAMPLES", "ask"]

from typing import Any

from mercer._base.errors import MercerError
from mercer._base.parameters import argument, flag, integer, text
from mercer._base.tables import ArgumentError, Features, RowSource, open_for_writing
from mercer.cli.framework.checks import check_file, exclude
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import lines_of, note, print_json, progress
from mercer.cli.framework.shared import DATA
from mercer.cli.models.learning import answers, missing_facts, open_data, spread
from mercer.cli.serve import token_of

EXAMPLES = """
  mercer wire ask http://127.0.0.1:8321 new.npy
  mercer wire ask http://127.0.0.1:8321 new.npy --bits 64 --token-file token.txt
  mercer wire ask http://127.0.0.1:8321 new.npy --neighbors 5

Send a csv file and get it back with a column of labels; choose one of several models:
  mercer wire ask http://127.0.0.1:8321 new.csv --raw > labeled.csv
  mercer wire ask http://127.0.0.1:8321 new.csv --raw --model iris

Print the class of a photograph, or with a detector, one line per object:
  mercer wire ask http://127.0.0.1:8321 street.jpg
"""
_PICTURES = (".png", ".jpg", ".jpeg")
_BYTES_PER_ROW = 1024  # of an answer, roughly


@options((
    argument("url", "URL", "Address that mercer serve printed."),
    DATA,
    integer("bits", None, "Bits per code, one of the rates of the service.", shown="the largest", least=1),
    integer("neighbors", None, "Find the K nearest rows of the index of the service instead of "
        "classes.", "K", least=1),
    text("token_file", None, "File with the token of the service.", "FILE",
        shown="the variable MERCER_TOKEN, if set"),
    text("model", None, "Name of the model to use, if the service has several.", shown="the first"),
    flag("raw", "Send a csv file unchanged, and print it with a column of answers."),
), examples=EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def ask(url, x, bits, neighbors, token_file, model, raw, rules, settings: Settings) -> None:
    """Send the bits of rows to a service, and print the class of each row, one per line.

    The command fetches the embedding from the service and encodes the rows locally, so only bits are sent. With
    --neighbors, each line holds the ids of the nearest rows, nearest first. With --raw, a csv file is sent unchanged.
    DATA may also be a PNG or JPEG picture, for an image classifier or a detector.
    """  # fmt: skip
    from mercer.serving import Client, ServiceError

    try:
        client = Client(url, token=token_of(settings, token_file), bits=bits, model=model)
    except ValueError as error:
        raise ArgumentError(str(error)) from error
    try:
        if raw or x.lower().endswith(_PICTURES):
            exclude(raw=raw, bits=bits)
            _ask_whole(client, x, raw, neighbors, settings)
            return
    except ServiceError as error:
        raise MercerError(f"{error}{_away(error, url)}") from error
    question = client.classify if neighbors is None else lambda rows: client.neighbors(rows, neighbors)
    try:
        embedding = client.embedding
        names = client.columns
        columns = Features(None if names is None else tuple(names), embedding.n_features, tuple(client.other_columns))
        data = open_data(settings, x, rules | {"needs_labels": False}, columns)
        with progress(settings):
            found = list(answers(data, lambda rows: question(_dense(rows)), bytes_per_row=_BYTES_PER_ROW))
    except ServiceError as error:
        raise MercerError(f"{error}{_away(error, url)}") from error
    sent = f"{data.shape[0]} rows sent in {embedding.n_bits} bits, {embedding.n_bytes} bytes each"
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


def _ask_whole(client, path: str, raw: bool, neighbors: int | None, settings: Settings) -> None:
    """Ask about a file as it is: a table, or a picture."""
    check_file(path, "Name a csv file, or a PNG or JPEG picture.")
    if raw:
        table = client.label_table(path) if neighbors is None else client.neighbors_table(path, neighbors)
        with open_for_writing("-") as stream:
            stream.write(table)
    elif client.model()["task"] == "detection":
        found = client.detect(path)
        boxes = [[*map(float, box), float(score)] for box, score in zip(found.boxes, found.scores, strict=True)]
        if settings.json:
            print_json(found._asdict())
        else:
            with open_for_writing("-") as stream:
                stream.write(lines_of([["xmin", "ymin", "xmax", "ymax", "score"], *boxes]))
    else:
        said = client.classify_pictures([path])
        if settings.json:
            print_json(said._asdict())
        else:
            with open_for_writing("-") as stream:
                stream.write(lines_of([[said.labels[0]]]))


def _away(error, url: str) -> str:
    return f" Is there a service at {url}?" if error.status is None else ""


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
