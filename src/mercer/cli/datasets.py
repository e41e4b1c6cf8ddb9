"""``mercer datasets``: which data sets the loaders know and find, and making those that have a recipe."""

__all__ = ["EXAMPLES", "datasets"]

import os
import re
from pathlib import Path
from typing import Any

from mercer._base.errors import did_you_mean
from mercer._base.parameters import argument, pathname
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note, print_table, progress

EXAMPLES = """
  mercer datasets
  mercer datasets --data ~/data --json
  mercer datasets scenes-sift --out ~/data/scenes-sift
"""


@options((
    argument("name", "RECIPE", "Data set to generate: scenes-sift. Without a name, all data sets are "
        "listed.", default=None),
    pathname("out", None, "Folder for the generated data set.", "DIR", "-o", shown="its folder in --data"),
    pathname("data", None, "Directory of the data sets.", "DIR", shown="MERCER_DATA, or ."),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def datasets(name, out, data, settings: Settings) -> None:
    """List the data sets that mercer.datasets loads, or generate one.

    Nothing is downloaded. The list says where to download the official files, and which data sets are present in the
    directory of --data or MERCER_DATA.

    scenes-sift holds a million SIFT descriptors of the Scenes-15 images and 10,000 queries. Generating it needs the
    images in a folder scenes15, OpenCV (the extra 'recipes') and one to two minutes.
    """
    if name is None:
        if out is not None:
            raise ArgumentError("--out needs the name of a data set to generate, as in 'mercer datasets scenes-sift'.")
        _list(settings, data)
    else:
        _make(settings, _recipe(name), data, out)


def _list(settings: Settings, data: Path | None) -> None:
    from mercer.datasets import CATALOGUE

    listed = [_described(known, data) for known in CATALOGUE.values()]
    if answer_json(settings, {"data": str(_directory(data)), "sets": listed}):
        return
    if settings.quiet:
        print("\n".join(known["name"] for known in listed if known["found"]))
        return
    rows = [[known["name"], *_sizes(known["parts"]), _files(known, data), _address(known)] for known in listed]
    columns = ["data set", "rows", "columns", "files", "from"]
    print_table(settings, f"Data sets in {_directory(data)}", columns, rows, text_columns=5)
    if data is None and not os.environ.get("MERCER_DATA"):
        note(settings, "MERCER_DATA is not set, so the current directory was searched. Set it, or use --data DIR.")


def _directory(data: Path | None) -> Path:
    return data or Path(os.environ.get("MERCER_DATA") or ".")


def _described(known, data: Path | None) -> dict[str, Any]:
    parts = [
        {"part": part or None, "rows": size.n_rows, "columns": size.n_columns, "found": known.is_found(part, data)}
        for part, size in known.parts.items()
    ]
    return {
        "name": known.name,
        "loader": f"mercer.datasets.{known.loader}",
        "folder": known.folder,
        "found": all(part["found"] for part in parts),
        "parts": parts,
        "places": sorted({str(place) for part in known.parts if (place := known.place_of(part, data))}),
        "recipe": f"mercer datasets {known.name}" if known.recipe else None,
        "origin": known.origin,
    }


def _sizes(parts: list[dict[str, Any]]) -> tuple[str, str]:
    """Rows of the parts, and their columns.

    >>> _sizes([{"part": "train", "rows": 43500, "columns": 9}, {"part": "test", "rows": 14500, "columns": 9}])
    ('train 43,500, test 14,500', '9')
    """
    rows = ", ".join(f"{part['part'] or ''} {part['rows']:,}".strip() for part in parts)
    return rows, " or ".join(dict.fromkeys(f"{part['columns']:,}" for part in parts))


def _files(known: dict[str, Any], data: Path | None) -> str:
    """Which parts were found, and where, if that is not the directory of the data sets."""
    found = [part["part"] for part in known["parts"] if part["found"]]
    if not found:
        return "missing"
    said = "found" if len(found) == len(known["parts"]) else f"{', '.join(found)} only"
    elsewhere = [place for place in known["places"] if place != str(_directory(data) / known["folder"])]
    return f"{said} in {' and '.join(elsewhere)}" if elsewhere else said


def _address(known: dict[str, Any]) -> str:
    """The command that makes a set, or the first address in the words on its origin."""
    if known["recipe"]:
        return known["recipe"]
    address = re.search(r"https?://([^\s,()]+)", known["origin"])
    return address[1] if address else known["origin"]


def _recipe(name: str):
    from mercer.datasets import CATALOGUE

    if name not in CATALOGUE:
        hint = did_you_mean(name, CATALOGUE) or "Run 'mercer datasets' to list all data sets."
        raise ArgumentError(f"There is no data set {name!r}. {hint.strip()}")
    known = CATALOGUE[name]
    if not known.recipe:
        raise ArgumentError(f"{name} cannot be generated. Download it from {known.origin}.")
    return known


def _make(settings: Settings, known, data: Path | None, out: Path | None) -> None:
    from mercer.datasets import make_scenes_sift

    out = out or _directory(data) / known.folder
    with progress(settings):
        record = make_scenes_sift(out, root=data)
    if answer_json(settings, {"directory": str(out), **record}):
        return
    rows = [
        [
            name,
            "yes" if file["sha256"] == file["pinned"] else "no",
            file["sha256"],
            "{:,} x {:,}".format(*file["shape"]),
        ]
        for name, file in record["files"].items()
    ]
    print_table(settings, str(out), ["file", "as published", "sha256", "rows x columns"], rows, text_columns=3)
    note(
        settings,
        f"OpenCV {record['opencv']}. Load them with mercer.datasets.load_scenes_sift(root={str(out)!r}).",
    )
