"""Who may ask: a token that is compared in constant time."""

__all__ = ["check_token"]

import hmac

from mercer.serving.http.faults import Fault


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
            "The request needs the header 'Authorization: Bearer TOKEN' with the token of the service.",
            {"WWW-Authenticate": "Bearer"},
        )
