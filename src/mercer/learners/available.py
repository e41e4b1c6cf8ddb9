"""Methods that only some parameters give, and that say which."""

__all__ = ["available_where"]

from functools import update_wrapper, wraps
from types import MethodType


def available_where(check):
    """A method that is there unless ``check(self)`` raises an AttributeError, which is what the caller sees.

    scikit-learn's ``available_if`` puts an error of its own in front, which gives no reason.
    """
    return lambda method: _Available(method, check)


class _Available:
    def __init__(self, method, check):
        self._method, self._check = method, check
        update_wrapper(self, method)

    def __get__(self, owner, kind=None):
        if owner is not None:
            self._check(owner)
            return MethodType(self._method, owner)

        @wraps(self._method)
        def unbound(owner, *args, **kwargs):
            self._check(owner)
            return self._method(owner, *args, **kwargs)

        return unbound
