"""``mercer inspect``: what a model file holds, without loading its arrays."""

__all__ = ["EXAMPLES", "inspect"]

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._base.parameters import argument, flag
from mercer.cli.framework.checks import check_file
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, print_facts, print_table
from mercer.cli.framework.rates import print_curve, read_message

EXAMPLES = """
  mercer inspect model.mercer
  mercer inspect model.mercer --verify
  mercer inspect codes.mrcw
  mercer inspect model.mercer --json | python -m json.tool
"""
# the plan, the embedding and the curve have lines of their own, and a history is for programs
_ELSEWHERE = ("plan_", "history_", "specification_json_", "curve_")


@options((
    argument("file", "FILE", "Model file, bit message (.mrcw), or - for standard input."),
    flag("verify", "Read the whole file and verify its checksum instead of reading the header only."),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def inspect(file, verify, settings: Settings) -> None:
    """Print the header, sizes, fingerprint and versions of a model file.

    Nothing in the file is executed and no arrays are loaded, so this is safe and fast for any file. For a damaged file,
    the reason is printed and the exit code is 1.
    """
    from mercer._base.files.models import describe

    with _as_file(file) as path:
        if _is_message(path):
            _print_message(settings, path, "standard input" if file == "-" else file)
            return
        found = describe(path, verify=verify)
        if "state" in found:
            behind = list(found).index("state") + 1
            found = dict([*list(found.items())[:behind], *_more(path).items(), *list(found.items())[behind:]])
    if file == "-":
        found["file"] = "standard input"
    if answer_json(settings, found):
        return
    arrays, curve = found.pop("arrays"), found.pop("curve", None)
    print_facts(settings, found["file"], _facts(found))
    if curve:
        print_curve(settings, "Accuracy against bits, by cross-validation", curve)
    if arrays:
        rows = [[a["name"], a["dtype"], " x ".join(map(str, a["shape"])), a["bytes"]] for a in arrays]
        print_table(settings, "Arrays", ["array", "type", "shape", "bytes"], rows, text_columns=2)


@contextmanager
def _as_file(path: str) -> Iterator[str]:
    """The path itself, or a temporary copy of the standard input: a header names positions in a file."""
    if path != "-":
        check_file(path, "Name a file. Use mercer index stats for an index.")
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".mercer") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield copy.name


def _is_message(path: str) -> bool:
    from mercer.serving import is_message

    with open(path, "rb") as stream:
        return is_message(stream.read(4))


def _print_message(settings: Settings, path: str, name: str) -> None:
    found = read_message(path, name)
    facts = {
        "file": name,
        "format": "bit message, version 1",
        "rows": len(found.codes),
        "bits": found.n_bits,
        "fingerprint": found.fingerprint8,
        "bytes": Path(path).stat().st_size,
    }
    if answer_json(settings, facts):
        return
    rows = [[key, value] for key, value in facts.items() if key != "file"]
    print_facts(settings, name, [*rows, ["checksum", "right"]])


def _more(path: str) -> dict[str, Any]:
    """What the summaries are too short for: what a learner did with its rows, and the bits that a model makes."""
    from mercer._base.files.container import naming, read_header
    from mercer._base.files.decoding import Decoder

    node = read_header(path).document["object"]
    state, found = node["state"], {}
    if "plan_" in state:
        found["plan"] = state["plan_"].get("parameters", {}) if isinstance(state["plan_"], dict) else {}
    with naming(path):
        for part in (node, state.get("embedding_"), state.get("map_")):
            match part:
                case {"state": {"specification_json_": str()}}:  # an embedding has no arrays to be loaded
                    found["embedding"] = _described(Decoder({}).decode(part).specification_)
        curve = Decoder({}).decode(state["curve_"]) if node["class"] == "WireClassifier" and "curve_" in state else None
    return found | ({"curve": curve} if _is_curve(curve) else {})


def _is_curve(value: Any) -> bool:
    names, numbers = ("bits", "accuracy", "low", "high"), (int, float)
    return isinstance(value, list) and all(
        isinstance(point, dict) and all(isinstance(point.get(name), numbers) for name in names) for point in value
    )


def _described(specification) -> dict[str, Any]:
    return {
        "kind": specification.kind,
        "bits": specification.n_bits,
        "bytes": specification.n_bytes,
        "fingerprint": specification.fingerprint,
    }


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if key == "file":
            continue
        if isinstance(value, dict):
            shown = {name: item for name, item in value.items() if name not in _ELSEWHERE}
            yield from ((f"{key} {name}", str(item)) for name, item in shown.items())
        else:
            yield key, str(value)
