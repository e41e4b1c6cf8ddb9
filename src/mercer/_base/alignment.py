"""Arrays that came in a message, moved to addresses at which they are quick to work with.

What Dask brings from another process lies where the message had it, often at an odd address. numpy multiplies such
arrays without BLAS, which takes up to fifty times as long and rounds at other places; loops are compiled anew for them.
"""

__all__ = ["settled"]

import numpy as np

OPENED = ("mercer", "sklearn", "scipy")  # packages whose objects are looked into


def settled(value):
    """The value with all its arrays at aligned addresses.

    Lists, dictionaries and objects are changed in place: who holds them has the moved arrays from then on.

    >>> odd = np.frombuffer(bytes(17), dtype=np.uint8)[1:].view(np.float64)
    >>> odd.flags.aligned, settled([odd])[0].flags.aligned
    (False, True)
    """
    return _settled(value, {})


def _settled(value, known):
    """``known``: {id: (value, what became of it)}, so that what is shared stays shared."""
    if id(value) in known:
        return known[id(value)][1]
    if isinstance(value, np.ndarray):
        found = np.require(value, requirements="A")
        known[id(value)] = value, found
        return found
    known[id(value)] = value, value
    if isinstance(value, tuple):
        items = [_settled(item, known) for item in value]
        if any(new is not old for new, old in zip(items, value, strict=True)):
            known[id(value)] = value, type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    elif isinstance(value, (list, dict)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            value[key] = _settled(item, known)
    elif type(value).__module__.partition(".")[0] in OPENED:
        for name, item in getattr(value, "__dict__", {}).items():
            found = _settled(item, known)
            if found is not item:
                object.__setattr__(value, name, found)
    return known[id(value)][1]
