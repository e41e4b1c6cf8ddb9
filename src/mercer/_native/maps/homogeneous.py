"""Roots of values to the features of a homogeneous kernel: the loop behind `HomogeneousMap`."""

__all__ = ["LOOPS", "widen_columns"]

import numpy as np

from mercer._native import trigonometric
from mercer._native.jit import jit

STRIP = 256  # values worked on at once: the scratch of a strip stays in the first-level cache


def _build_loop(log2_parts, cos_sin):
    @jit
    def homogeneous_features(roots, amplitudes, pitch, out):
        """out[:, 0] = amplitudes[0] r,  out[:, 2j-1] + 1j out[:, 2j] = amplitudes[j] r exp(1j j pi pitch log2 |r|)

        roots       (N,)               float   r, of any sign; zero gives zeros
        amplitudes  (n + 1,)           float
        pitch       (2,)               float   half turns per octave, as a sum: the first times any exponent is exact
        out         (N * (2n + 1),)    float   written in place
        """
        number = roots.dtype.type
        n = amplitudes.shape[0] - 1
        width = 2 * n + 1
        # arrays of their own, not rows of one: the compiler must see that they do not overlap
        cos, sin = np.empty(STRIP, roots.dtype), np.empty(STRIP, roots.dtype)
        re, im = np.empty(STRIP, roots.dtype), np.empty(STRIP, roots.dtype)
        high, low = pitch[0], pitch[1]
        for first in range(0, roots.shape[0], STRIP):
            r, o = roots[first : first + STRIP], out[width * first : width * (first + STRIP)]
            if n == 0:
                for i in range(r.shape[0]):
                    o[i] = amplitudes[0] * r[i]
                continue
            for i in range(r.shape[0]):
                exponent, rest = log2_parts(abs(r[i]))
                turns = exponent * high
                turns -= number(2) * np.rint(turns * number(0.5))
                c, s = cos_sin(turns + (exponent * low + rest * (high + low)))
                cos[i] = c
                sin[i] = s
                re[i] = r[i] * c
                im[i] = r[i] * s
            if n == 1:  # the usual case: with a stride that the compiler knows, the stores vectorise
                for i in range(r.shape[0]):
                    o[3 * i] = amplitudes[0] * r[i]
                    o[3 * i + 1] = amplitudes[1] * re[i]
                    o[3 * i + 2] = amplitudes[1] * im[i]
                continue
            for i in range(r.shape[0]):
                o[width * i] = amplitudes[0] * r[i]
            for j in range(1, n + 1):
                for i in range(r.shape[0]):
                    o[width * i + 2 * j - 1] = amplitudes[j] * re[i]
                    o[width * i + 2 * j] = amplitudes[j] * im[i]
                # exp((j + 1) t) = exp(j t) exp(t): a product instead of another cosine and sine
                for i in range(r.shape[0]):
                    previous = re[i]
                    re[i] = previous * cos[i] - im[i] * sin[i]
                    im[i] = previous * sin[i] + im[i] * cos[i]

    return homogeneous_features


@jit
def widen_columns(columns, width, out):
    """out[:] = (columns[:, None] * width + np.arange(width)).ravel()

    columns  (N,)           int   column numbers
    out      (N * width,)   int   written in place, of a type that holds the largest result
    """
    for i in range(columns.shape[0]):
        first = out.dtype.type(columns[i]) * out.dtype.type(width)
        for c in range(width):
            out[i * width + c] = first + out.dtype.type(c)


# dtype character -> loop
LOOPS = {
    "f": _build_loop(trigonometric.log2_parts_single, trigonometric.cos_sin_single),
    "d": _build_loop(trigonometric.log2_parts_double, trigonometric.cos_sin_double),
}
