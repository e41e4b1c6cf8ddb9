"""The exceptions and warnings Mercer raises on purpose.

A message says who complains, what was needed, what came and what to do. Each class also inherits the built-in a
caller would naturally catch, so ``except ValueError`` keeps working around a scikit-learn pipeline.
"""

__all__ = [
    "ApproximationWarning",
    "InputError",
    "MercerError",
    "MissingExtraError",
    "ModelFileError",
    "NegativeValueError",
    "NotSaveableError",
    "StoreError",
    "did_you_mean",
    "require_extra",
]

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module


class MercerError(Exception):
    """Base class of all errors that Mercer raises deliberately."""


class InputError(MercerError, ValueError):
    """Data or parameters that cannot be used as given."""


class NegativeValueError(InputError):
    """A negative value where a kernel or a transformer needs values >= 0.

    Attributes
    ----------
    who : what needs them, such as "Chi2"
    may_be_signed : whether a kernel of this name takes values with signs if it is asked to
    """

    def __init__(self, message, who="", may_be_signed=False):
        super().__init__(message)
        self.who, self.may_be_signed = who, may_be_signed


class ModelFileError(MercerError, ValueError):
    """The model file is damaged, altered, too new, or not a model file. The message names the file and the reason."""


class NotSaveableError(MercerError, TypeError):
    """An object that has no safe representation in a model file."""


class MissingExtraError(MercerError, ImportError):
    """An optional dependency is not installed. The message gives the command that installs it."""


class StoreError(MercerError, RuntimeError):
    """A database that cannot be reached, or that refused what was asked of it. The message gives its own words."""


class ApproximationWarning(UserWarning):
    """A result is valid but poorer than the caller may expect, for instance values clipped to the edge of a grid."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The nearest of the known words as a question with a space behind it, or nothing if none is near.

    >>> did_you_mean("drop-row", ["error", "drop-rows", "mean"])
    "Did you mean 'drop-rows'? "
    >>> did_you_mean("xyz", ["error", "drop-rows", "mean"])
    ''
    """
    near = get_close_matches(str(word), list(known), n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}? " if near else ""


def require_extra(module, extra, purpose):
    """Import an optional dependency, or say which extra provides it.

    >>> require_extra("json", extra="none", purpose="reading JSON").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{purpose} needs the package {module!r}, which is not installed. Run: pip install 'mercer[{extra}]'."
        ) from error
