"""What an embedding into bits is, written down in integers: see docs/wire-format.md, sections 3 to 6."""

__all__ = ["KINDS", "LARGEST_STEP", "MATRICES", "Specification", "padded_length"]

import base64
import hashlib
import json
from dataclasses import dataclass, replace

import numpy as np

from mercer._base.errors import InputError
from mercer.codes.wire.normal_table import UNIT

KINDS = ("universal", "qjl", "sigma-delta")
MATRICES = ("dense", "structured", "learned")
WIDEST = {"dense": 2**22, "structured": 2**18, "learned": 2**22}  # features of a block: projections stay below 2^52
MOST_PROJECTIONS = 2**24
MOST_ENTRIES = 2**34  # of a matrix: half-words of a stream
MOST_LEARNED = 2**26  # of a matrix that is written out: 128 MiB
LARGEST_STEP = 2**50
ARRAYS = ("scale", "center", "offsets")
KEYS = (
    "format", "version", "kind", "matrix", "seed", "features", "blocks", "projections", "bits", "step", "dither",
    "exponent", *ARRAYS,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Specification:
    """An embedding of rows into bits. Two embeddings with equal fingerprints give equal bits, in any language.

    Parameters
    ----------
    kind : {"universal", "qjl", "sigma-delta"}
    matrix : {"dense", "structured", "learned"}
    seed : int, 0 to 2^64 - 1
    features, blocks : numbers per block, and blocks that are embedded alike and stacked
    projections : of each block
    bits : per projection
    step : D, whole
    dither : bool
    exponent : int or None, numbers are multiplied by 2^exponent before they are rounded to 16 bits
    scale : None or array of factors, instead of the exponent
    center : None or array that is subtracted first
    offsets : None or array of integers that are subtracted from projections
    entries : None, or for a learned matrix its integers of 16 bits, (projections, features)

    Examples
    --------
    >>> from mercer import UniversalEmbedding
    >>> import numpy as np
    >>> embedding = UniversalEmbedding(64, delta=1.0, random_state=0).fit(np.zeros((1, 8)))
    >>> specification = embedding.specification_
    >>> specification.kind, specification.features, specification.projections, specification.bits
    ('universal', 8, 64, 1)
    """

    kind: str
    matrix: str
    seed: int
    features: int
    blocks: int
    projections: int
    bits: int
    step: int
    dither: bool
    exponent: int | None
    scale: np.ndarray | None = None
    center: np.ndarray | None = None
    offsets: np.ndarray | None = None
    entries: np.ndarray | None = None

    def __post_init__(self):
        _require(self.kind in KINDS, f"kind from {', '.join(KINDS)}", self.kind)
        _require(self.matrix in MATRICES, f"matrix from {', '.join(MATRICES)}", self.matrix)
        _require_whole(self.seed, "seed", 0, 2**64 - 1)
        _require_whole(self.features, "features", 1, WIDEST[self.matrix])
        _require_whole(self.blocks, "blocks", 1, 2**24)
        _require_whole(self.projections, "projections", 1, MOST_PROJECTIONS)
        n_entries = self.projections * (4 if self.matrix == "structured" else self.features)
        most = MOST_LEARNED if self.matrix == "learned" else MOST_ENTRIES
        _require(n_entries <= most, f"features times projections up to {most}", n_entries)
        _require_whole(self.bits, "bits", 1, 1 if self.kind == "universal" else 8)
        _require_whole(self.step, "step", 1, LARGEST_STEP)
        _require(isinstance(self.dither, bool), "dither as true or false", self.dither)
        _require(self.dither or self.kind != "universal", "dither true for universal bits", self.dither)
        _require((self.exponent is None) != (self.scale is None), "exponent or scale, not both", self.exponent)
        if self.exponent is not None:
            _require_whole(self.exponent, "exponent", -1022, 1023)
        for name, size in (("scale", self.features), ("center", self.features), ("offsets", self.projections)):
            self._freeze(name, size)
        self._freeze_entries()

    def _freeze(self, name, size):
        value = getattr(self, name)
        if value is None:
            return
        array = np.array(value, dtype="<f8")
        _require(array.shape == (size,) and np.isfinite(array).all(), f"{name} as {size} finite numbers", array.shape)
        if name == "offsets":
            whole = (array == np.floor(array)) & (np.abs(array) < 2.0**52)
            _require(self.kind != "universal" and whole.all(), "integer offsets, and none for universal bits", name)
        array.flags.writeable = False
        object.__setattr__(self, name, array)

    def _freeze_entries(self):
        learned = self.matrix == "learned"
        _require((self.entries is not None) == learned, "entries for a learned matrix only", self.matrix)
        if self.entries is None:
            return
        array, shape = np.asarray(self.entries), (self.projections, self.features)
        fits = array.shape == shape and array.dtype.kind in "iu" and np.abs(array.astype(np.int64)).max() < 2**15
        _require(fits, f"entries as 16-bit integers in the shape {shape}", array.shape)
        array = np.array(array, dtype="<i2")
        array.flags.writeable = False
        object.__setattr__(self, "entries", array)

    # -------------------------------------------------------------------------------------------------------- sizes

    @property
    def n_features(self):
        """Numbers of a row."""
        return self.blocks * self.features

    @property
    def n_bits(self):
        """Bits of a row, R = M B for each block."""
        return self.blocks * self.projections * self.bits

    @property
    def n_bytes(self):
        """Bytes of a row."""
        return -(-self.n_bits // 8)

    @property
    def padded(self):
        """Length of the structured transform."""
        return padded_length(self.features)

    @property
    def unit(self):
        """Standard deviation of a random projection of a row of norm 1, in integers."""
        return self.padded if self.matrix == "structured" else UNIT

    def shortened(self, projections):
        """The specification of the first projections, whose bits are the first bits of every block."""
        _require_whole(projections, "projections", 1, self.projections)
        offsets = None if self.offsets is None else self.offsets[:projections]
        entries = None if self.entries is None else self.entries[:projections]
        return replace(self, projections=int(projections), offsets=offsets, entries=entries)

    # --------------------------------------------------------------------------------------------------------- text

    def to_dict(self):
        """The JSON object of section 6."""
        values = {name: getattr(self, name) for name in KEYS[2:]}
        arrays = {name: None if values[name] is None else _to_text(values[name]) for name in ARRAYS}
        whole = {name: int(value) for name, value in values.items() if type(value) not in (str, bool, type(None))
                 and name not in ARRAYS}  # fmt: skip
        seed = f"{int(self.seed):016x}"
        written = {} if self.entries is None else {"entries": _to_text(self.entries)}
        return {"format": "mercer-embedding", "version": 1, **values, **whole, **arrays, "seed": seed, **written}

    def to_json(self):
        """The text whose hash is the fingerprint: keys in order, no spaces."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))

    @property
    def fingerprint(self):
        """SHA-256 of the text, hexadecimal."""
        return hashlib.sha256(self.to_json().encode("ascii")).hexdigest()

    @classmethod
    def from_dict(cls, content):
        """Read the specification from a JSON object; keys unknown to version 1 are refused."""
        _require(isinstance(content, dict), "an object", type(content).__name__)
        known = content.get("format") == "mercer-embedding" and content.get("version") == 1
        _require(known, "format mercer-embedding, version 1", (content.get("format"), content.get("version")))
        keys = (*KEYS, "entries") if content.get("matrix") == "learned" else KEYS
        _require(set(content) == set(keys), f"the keys {', '.join(keys)}", ", ".join(map(str, content)))
        values = {name: content[name] for name in keys[2:]}
        seed = values["seed"]
        digits = isinstance(seed, str) and len(seed) == 16 and all(c in "0123456789abcdef" for c in seed)
        _require(digits, "seed as 16 hexadecimal digits", seed)
        arrays = {name: _from_text(values[name], name) for name in ARRAYS}
        if "entries" in values:
            whole = _from_text(values["entries"], "entries", "<i2")
            shape = values["projections"], values["features"]
            sizes = all(type(n) is int and n > 0 for n in shape)
            fits = sizes and whole is not None and whole.size == shape[0] * shape[1]
            _require(fits, "entries for every projection and feature", None if whole is None else whole.size)
            arrays["entries"] = whole.reshape(shape)
        return cls(**{**values, **arrays, "seed": int(seed, 16)})


def padded_length(n_features):
    """The smallest power of two that is at least the number of features, and at least 256.

    Below, projections would be too far from normal: their kurtosis is 3 n / (n + 2).
    """
    return max(256, 1 << (int(n_features) - 1).bit_length())


def _to_text(array):
    return base64.b64encode(array.tobytes()).decode("ascii")  # little-endian already


def _from_text(text, name, dtype="<f8"):
    if text is None:
        return None
    _require(isinstance(text, str), f"{name} as base64", text)
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        content = b"?"
    dtype = np.dtype(dtype)
    _require(len(content) % dtype.itemsize == 0, f"{name} as base64 of {dtype.name}", text)
    return np.frombuffer(content, dtype=dtype)


def _require_whole(value, name, least, most):
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    _require(whole and least <= value <= most, f"{name} as an integer from {least} to {most}", value)


def _require(fits, wanted, got):
    if not fits:
        raise InputError(f"The specification of an embedding needs {wanted}, got {got!r:.80}.")
