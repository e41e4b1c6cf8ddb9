"""faiss, with its matrix products at full speed.

The wheels of faiss-cpu bring an OpenBLAS of their own, 0.3.15 in faiss 1.15. Some processors it does not recognize, an
Ice Lake server under a hypervisor for instance, and falls back to the loops of a Pentium 4 ("Prescott"), which are
several times slower (`python -m benchmarks faiss-blas`). NumPy's OpenBLAS is newer and knows better, so faiss's is told
to use the loops that NumPy's has chosen. That can be said only while the library is loaded, by an environment variable.
"""

__all__ = ["load_faiss"]

import os
import sys
from contextlib import contextmanager

CORE_TYPE = "OPENBLAS_CORETYPE"
# What NumPy's OpenBLAS finds -> what an OpenBLAS of 2021 calls the same instructions. Others are left to its own guess.
CORES = {
    "haswell": "Haswell",
    "zen": "Zen",
    "skylakex": "SkylakeX",
    "cooperlake": "SkylakeX",
    "sapphirerapids": "SkylakeX",
}


def load_faiss():
    """The module ``faiss``."""
    if "faiss" not in sys.modules:
        with _core_type(_core_of_numpy()):
            import faiss
    import faiss

    return faiss


def _core_of_numpy():
    """The name for faiss's OpenBLAS, or None where NumPy has another BLAS or an old processor."""
    import numpy as np  # noqa: F401 - its OpenBLAS is asked
    from threadpoolctl import threadpool_info

    found = {str(one.get("architecture")).lower() for one in threadpool_info() if one["internal_api"] == "openblas"}
    known = {CORES.get(name) for name in found}
    return known.pop() if len(known) == 1 else None


@contextmanager
def _core_type(name):
    """The environment with the variable, unless the user has set it or there is nothing to say."""
    if name is None or CORE_TYPE in os.environ:
        yield
        return
    os.environ[CORE_TYPE] = name
    try:
        yield
    finally:
        del os.environ[CORE_TYPE]
