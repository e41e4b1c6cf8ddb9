"""How large a file may become in memory: a limit that is checked before and while memory is taken, not after.

A few kilobytes of a packed file can stand for gigabytes, and a header of a hundred bytes can promise any number of
rows. What is read as a whole is counted as it unpacks, and reading stops at the limit; what is read block by block is
limited by its blocks alone.
"""

__all__ = ["Limit", "bytes_of", "size_text"]

import re
from dataclasses import dataclass
from typing import Any, BinaryIO

from mercer._base.errors import InputError
from mercer._base.memory import available_memory

SHARE = 4  # a file may take one part in so many of the memory available: working on it takes memory too
CHUNK = 2**20  # bytes unpacked at a time
_UNITS = {"": 1, "B": 1} | {
    unit + suffix: base**power
    for power, unit in enumerate("KMGT", start=1)
    for suffix, base in (("", 1000), ("B", 1000), ("IB", 1024))
}


def bytes_of(size: str | int) -> int:
    """A size as a number of bytes.

    >>> bytes_of("8GB"), bytes_of("1.5 MiB"), bytes_of(4096)
    (8000000000, 1572864, 4096)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?(?:I?B)?)\s*", str(size).upper(), re.ASCII)
    number = float(found[1]) * _UNITS[found[2]] if found and found[2] in _UNITS else 0
    if isinstance(size, bool) or not 1 <= number < 2**63:
        raise InputError(f"max_unpacked must be a size such as 500MB or 8GB, or a number of bytes; got {size!r}.")
    return int(number)


def size_text(n_bytes: float) -> str:
    """A number of bytes as a person says it.

    >>> size_text(999), size_text(5_300_000_000)
    ('999 bytes', '5.3 GB')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= scale:
            return f"{n_bytes / scale:.3g} {unit}"
    return f"{int(n_bytes)} bytes"


@dataclass(frozen=True)
class Limit:
    """The most bytes that one file may take in memory, why so many, and how to allow more."""

    n_bytes: int
    reason: str
    remedy: str

    @classmethod
    def of(cls, max_unpacked: str | int | None) -> "Limit":
        """The limit that a user has set, or a quarter of the available memory."""
        remedy = "If you trust the file, raise the limit with --max-unpacked SIZE (max_unpacked in Python)."
        if max_unpacked is not None:
            return cls(bytes_of(max_unpacked), "the limit", remedy)
        return cls._share(remedy)

    @classmethod
    def fixed(cls) -> "Limit":
        """The limit of small files that nobody sets one for: ids, labels, boxes."""
        return cls._share("Split the file.")

    @classmethod
    def _share(cls, remedy: str) -> "Limit":
        return cls(available_memory() // SHARE, "a quarter of the available memory", remedy)

    def check(self, n_bytes: float, name: str, what: str = "") -> None:
        """Refuse a file that takes so many bytes; ``what`` is the part of it that does, as in "one row of it"."""
        if n_bytes > self.n_bytes:
            subject = f"{name}: {what}" if what else name
            raise InputError(
                f"{subject} would need {size_text(n_bytes)} of memory unpacked, more than {size_text(self.n_bytes)}, "
                f"{self.reason}. {self.remedy}"
            )

    def read(self, stream: BinaryIO, name: str) -> bytes:
        """All bytes of a stream, or a refusal as soon as they are too many."""
        parts, count = [], 0
        while part := stream.read(CHUNK):
            count += len(part)
            if count > self.n_bytes:
                raise InputError(
                    f"{name} needs more than {size_text(self.n_bytes)} of memory unpacked, {self.reason}. {self.remedy}"
                )
            parts.append(part)
        return b"".join(parts)

    def check_stream(self, stream: BinaryIO, name: str) -> int:
        """The number of bytes from here to the end of a stream, which stays where it is; refused if too many."""
        start = stream.tell()
        size = stream.seek(0, 2) - start
        stream.seek(start)
        self.check(size, name)
        return size

    def check_array(self, X: Any, itemsize: int, name: str) -> None:
        """Refuse numbers that take too much as floats of this size, or whose single row would."""
        entries = X.nnz if hasattr(X, "indptr") else X.size
        self.check(entries * max(itemsize, X.dtype.itemsize), name)
        self.check_row(X.shape[-1], name)

    def check_row(self, n_columns: int, name: str) -> None:
        """Refuse columns so many that one row as float64 is too large: a sparse row says that in a few bytes."""
        self.check(8 * n_columns, name, f"one row of its {n_columns:,} columns")

    def check_words(self, n_words: int, longest: int, name: str) -> None:
        """Refuse words that an array, where each takes as much as the longest, has no room for."""
        self.check(4 * n_words * longest, name, f"{n_words:,} labels, the longest of {longest:,} characters,")
