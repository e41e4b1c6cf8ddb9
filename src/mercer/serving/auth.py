"""Who may ask: a token that is compared in constant time."""

__all__ = ["check_token", "read_token"]

import hmac
import os
import stat

from mercer._base.errors import InputError
from mercer.serving.faults import Fault

_LONGEST_FILE = 4096


def check_token(headers, token):
    """Refuse a request that does not carry the token, if there is one.

    The comparison takes as long for a token that is nearly right as for one that is wrong from the first character.
    """
    if token is None:
        return
    scheme, _, given = headers.get("authorization", "").partition(" ")
    matches = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode("utf-8"))
    if scheme.lower() != "bearer" or not matches:
        raise Fault(
            401,
            "unauthorized",
            "This needs the header 'Authorization: Bearer TOKEN' with the token of the service.",
            {"WWW-Authenticate": "Bearer"},
        )


def read_token(path):
    """The token in the first line of a file, and whether others than its owner may read it."""
    with open(path, encoding="utf-8", errors="replace") as file:
        is_open = bool(stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077)
        text = file.read(_LONGEST_FILE).strip()
    if not text or "\n" in text:
        raise InputError(f"{path} must hold the token, on one line.")
    return text, is_open
