"""The one decorator of compiled loops: disk cache, floating-point policy, and what happens when the cache fails."""

__all__ = ["inline", "jit"]

import hashlib
import pickle
import warnings
from pathlib import Path

from numba import njit
from numba.core import config
from numba.extending import register_jitable

from mercer._base.compiling import announce_compilation

# contract: fused multiply-add; nsz: the sign of zero does not matter. Sums are never reordered (no reassoc), and
# infinities and NaN keep their meaning (no ninf, nnan).
FLOATING_POINT = {"contract", "nsz"}

# LLVM finds the longer formulas too large to inline by itself, and a loop with a call in it does not vectorise
# (measured: 10 times slower for the power mean).
inline = register_jitable(forceinline=True)

# What a folder that cannot be written, a full disk, or a file cut short by a crash raise inside numba's cache.
CACHE_FAILURES = (OSError, EOFError, pickle.PickleError)
# What an index raises that names a class which another version of Mercer had somewhere else: numba reads all of it
# before it sees that it is out of date.
OTHER_VERSION = (AttributeError, ImportError)

_FOLDER = Path(__file__).parent


def _digest():
    """Of every file of this folder and the folders in it.

    numba's cache looks at the file that defines a loop only; formulas inside it may come from another file. (A process
    started before an edit would also store its old code under the new file's date.)
    """
    digest = hashlib.sha256()
    for path in sorted(_FOLDER.rglob("*.py")):
        digest.update(f"{path.relative_to(_FOLDER).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


# NUMBA_BOUNDSCHECK=1 makes a build that looks at every index, for hostile input (`make fuzz`). It overrules the option
# of the decorator, and unlike that option it holds for inlined formulas too. numba's cache ignores it: a loop stored by
# one build must not answer in the other.
BUILD = (_digest(), *((name, str(getattr(config, name))) for name in ("BOUNDSCHECK", "OPT")))

_warned = False
announce_compilation()


def jit(function):
    """Compile ``function`` on first use, release the GIL inside it, and keep the machine code on disk.

    A cache that fails costs time, never a result: the loop is compiled again and one warning says so.
    """
    options = {"nogil": True, "fastmath": FLOATING_POINT, "error_model": "numpy", "boundscheck": False}
    try:
        loop = njit(cache=True, **options)(function)
    except RuntimeError as error:  # numba found no folder it may write its cache to
        _warn_once(error)
        return njit(**options)(function)
    cache = getattr(loop, "_cache", None)  # absent when NUMBA_DISABLE_JIT leaves the plain function
    if cache is not None:
        key = cache._index_key
        cache._index_key = lambda *args: (*key(*args), BUILD)
        cache.save_overload = _survive(cache.save_overload, cache.flush)
        cache.load_overload = _survive(cache.load_overload, cache.flush)
    return loop


def _survive(method, flush):
    # numba reports a failed read or write of its cache as an error of the call that needed the loop
    def survivor(*args):
        try:
            try:
                return method(*args)
            except OTHER_VERSION:
                flush()
                return method(*args)
        except CACHE_FAILURES as error:
            _warn_once(error)
            return None

    return survivor


def _warn_once(error):
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"Mercer cannot store compiled code on disk ({error}), so every process compiles the loops again. Set "
            f"NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=4,
        )
