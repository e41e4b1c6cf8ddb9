"""faiss is loaded with the loops of NumPy's OpenBLAS, and the environment is left as it was."""

import os
import subprocess
import sys

import pytest

SHOWN = """
import os
from mercer._base.faiss_library import load_faiss
load_faiss()
from threadpoolctl import threadpool_info
blas = [one for one in threadpool_info() if one["internal_api"] == "openblas"]
cores = ["{}={}".format("faiss" in one["filepath"], one["architecture"]) for one in blas]
print(os.environ.get("OPENBLAS_CORETYPE"), *cores)
"""


def _shown(**variables):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"} | variables
    return subprocess.run(
        [sys.executable, "-c", SHOWN], check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout.split()


@pytest.mark.process
def test_faiss_computes_with_the_loops_of_numpy_and_the_environment_is_as_before():
    from mercer._base.faiss_library import CORES

    variable, *cores = _shown()
    assert variable == "None"
    of = {one.split("=")[0]: one.split("=")[1] for one in cores}
    if len(of) < 2 or of["False"].lower() not in CORES:
        pytest.skip("NumPy or faiss has another BLAS here, or loops that an older OpenBLAS does not have.")
    assert of["True"] == CORES[of["False"].lower()]


@pytest.mark.process
def test_a_choice_of_the_user_is_respected():
    variable, *cores = _shown(OPENBLAS_CORETYPE="Haswell")
    assert variable == "Haswell"
    assert all(core.endswith("=Haswell") for core in cores)


LOADED = """
import sys
import numpy as np
import mercer

for name in mercer._NAMES:
    getattr(mercer, name)
X = np.random.default_rng(0).random((60, 4))
y = np.arange(60) % 2
mercer.KernelClassifier("chi2").fit(X, y).predict(X)
mercer.KernelIndex("chi2")
print("faiss" in sys.modules)
mercer.ProductQuantizer(2, bits=2, random_state=0).fit(X)
print("faiss" in sys.modules)
"""


@pytest.mark.process
def test_faiss_is_loaded_only_where_it_is_used():
    """Every public name is looked up, and a chi2 classifier is fitted, without it."""
    done = subprocess.run([sys.executable, "-c", LOADED], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"]
