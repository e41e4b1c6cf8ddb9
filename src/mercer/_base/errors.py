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
    "NotSaveableError",
    "StoreError",
    "require_extra",
]

from importlib import import_module


class MercerError(Exception):
    """Base class of every error that Mercer raises on purpose."""


class InputError(MercerError, ValueError):
    """Data or parameters that cannot be used as given."""


class ModelFileError(MercerError, ValueError):
    """A model file that is damaged, altered, too new or not a model file. The message names file and reason."""


class NotSaveableError(MercerError, TypeError):
    """An object that has no safe representation in a model file."""


class MissingExtraError(MercerError, ImportError):
    """An optional dependency is not installed. The message gives the command that installs it."""


class StoreError(MercerError, RuntimeError):
    """A database that cannot be reached, or that refused what was asked of it. The message gives its own words."""


class ApproximationWarning(UserWarning):
    """A result is valid but poorer than the caller may expect, for instance values clipped to the edge of a grid."""


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
