"""Values as JSON: numpy's types as Python's, and no NaN."""

__all__ = ["json_bytes", "plain"]

import json

import numpy as np


def plain(value):
    """Python's own types for what models hold: numpy scalars, arrays and what is in containers."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


def json_bytes(value):
    """The JSON text of plain values."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
