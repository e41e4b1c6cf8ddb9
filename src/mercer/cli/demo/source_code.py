"""Pieces of the source of installed libraries, to be told apart by how often each character occurs."""

__all__ = ["LIBRARIES", "Pieces", "source_pieces"]

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LIBRARIES = ("joblib", "numba", "numpy", "rich", "scipy", "sklearn")  # Mercer cannot run without them
LENGTH, OF_A_LIBRARY, OF_A_FILE = 40, 250, 6  # lines of a piece, and pieces at most
_ASCII = 128


@dataclass(frozen=True)
class Pieces:
    """Counts of characters, the texts that they were counted in, and the library and file of each."""

    rows: Any
    texts: list[str]
    labels: Any
    files: Any


def source_pieces(seed: int) -> Pieces:
    """Pieces of every library, at random files of it."""
    import numpy as np

    rng = np.random.default_rng(seed)
    found = [(text, library, file) for library in LIBRARIES for text, file in _pieces(library, rng)]
    texts, labels, files = zip(*found, strict=True)
    rows = np.stack([np.bincount(_characters(text), minlength=_ASCII) for text in texts])
    return Pieces(rows[:, rows.any(axis=0)].astype(np.float32), list(texts), np.array(labels), np.array(files))


def _pieces(library: str, rng) -> list[tuple[str, str]]:
    """(text, name of its file), from files in random order."""
    spec = importlib.util.find_spec(library)
    roots = list((spec.submodule_search_locations if spec else None) or [])
    paths = sorted(path for root in roots for path in Path(root).rglob("*.py") if "tests" not in path.parts)
    pieces: list[tuple[str, str]] = []
    for i in rng.permutation(len(paths)):
        lines = paths[i].read_text(encoding="utf-8", errors="replace").splitlines()
        starts = range(0, len(lines) - LENGTH + 1, LENGTH)
        pieces += [("\n".join(lines[start : start + LENGTH]), str(paths[i])) for start in starts][:OF_A_FILE]
        if len(pieces) >= OF_A_LIBRARY:
            break
    return pieces[:OF_A_LIBRARY]


def _characters(text: str):
    import numpy as np

    return np.frombuffer(text.encode("ascii", "ignore"), dtype=np.uint8)
