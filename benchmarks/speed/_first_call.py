"""Run in a process of its own: prints the seconds that the first call of a kernel costs beyond a second one.

Arguments: kernel, its parameters as JSON, dtype, storage ("dense" or "csr"). Everything that is neither compiling nor
reading the cache, numba's own import included, is done before the clock starts. A second number is the part in which
numba fills its registries: the first compiled call of a process pays for it, whatever is called.
"""

import json
import sys
import time

import numpy as np
from numba.core.registry import cpu_target
from scipy import sparse

from mercer.kernels import get_kernel

name, parameters, dtype, storage = sys.argv[1:]
kernel = get_kernel(name, **json.loads(parameters))
X, Y = (np.random.default_rng(seed).random((40, 12)).astype(dtype) for seed in (0, 1))
if storage == "csr":
    X, Y = sparse.csr_array(X), sparse.csr_array(Y)
start = time.perf_counter()
cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()
registered = time.perf_counter()
kernel(X, Y)
first = time.perf_counter()
kernel(X, Y)
second = time.perf_counter()
print(json.dumps([(first - start) - (second - first), registered - start]))
