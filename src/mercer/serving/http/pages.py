"""The page: its files, read once from a fixed folder of the package. No name of a request ever becomes a path."""

__all__ = ["page_files"]

import hashlib
from dataclasses import dataclass
from importlib import resources

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True)
class PageFile:
    """A file of the page."""

    content: bytes
    media_type: str
    etag: str


def page_files():
    """Files by name."""
    found = {}
    for entry in resources.files("mercer.serving").joinpath("page").iterdir():
        media_type = _TYPES.get("." + entry.name.rpartition(".")[2])
        if media_type is not None and entry.is_file():
            content = entry.read_bytes()
            found[entry.name] = PageFile(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found
