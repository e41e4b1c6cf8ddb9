"""The state of the process while a verb runs: log, warnings and threads, all put back afterward."""

__all__ = ["prepared"]

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Read by BLAS and OpenMP when they are loaded, which happens after the options are known
_THREAD_VARIABLES = ("MERCER_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def prepared(log_level: str, threads: int | None) -> Iterator[None]:
    """Log to the standard error at the given level, warnings included, on at most ``threads`` threads."""
    with _logging(log_level), _threads(threads):
        yield


@contextmanager
def _logging(level: str) -> Iterator[None]:
    logger = logging.getLogger("mercer")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("mercer: %(levelname)s: %(message)s"))
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _log_warning
            # scikit-learn's: the columns of every table were matched by name when it was opened
            warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names, but")
            # Pillow's, of images that are then refused by name
            warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
            yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


def _log_warning(message, category, filename, lineno, file=None, line=None) -> None:
    logging.getLogger("mercer").warning("%s: %s", category.__name__, " ".join(str(message).split()))


@contextmanager
def _threads(threads: int | None) -> Iterator[None]:
    if threads is None:
        yield
        return
    from mercer._base.threads import effective_threads, thread_limit

    threads = effective_threads(threads)
    before = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, str(threads)))
    try:
        with thread_limit(threads):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
