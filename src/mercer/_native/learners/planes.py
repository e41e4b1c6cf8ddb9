"""Products with stored cutting planes. Planes may be float32; sums run in float64, whatever cancels in them."""

__all__ = ["combine_planes", "dot_planes"]

import numpy as np

from mercer._native.jit import jit


@jit
def dot_planes(planes, p, first, last, out):
    """out += planes[:, first:last].astype(float) @ p[first:last]

    planes  (T, w)  float
    p       (w,)    float
    out     (T,)    float64   written in place
    Eight partial sums: additions that wait for each other would make the loop four times slower than memory.
    """
    for t in range(planes.shape[0]):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        whole = first + (last - first) // 8 * 8
        for j in range(first, whole, 8):
            s0 += np.float64(planes[t, j]) * np.float64(p[j])
            s1 += np.float64(planes[t, j + 1]) * np.float64(p[j + 1])
            s2 += np.float64(planes[t, j + 2]) * np.float64(p[j + 2])
            s3 += np.float64(planes[t, j + 3]) * np.float64(p[j + 3])
            s4 += np.float64(planes[t, j + 4]) * np.float64(p[j + 4])
            s5 += np.float64(planes[t, j + 5]) * np.float64(p[j + 5])
            s6 += np.float64(planes[t, j + 6]) * np.float64(p[j + 6])
            s7 += np.float64(planes[t, j + 7]) * np.float64(p[j + 7])
        for j in range(whole, last):
            s0 += np.float64(planes[t, j]) * np.float64(p[j])
        out[t] += ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@jit
def combine_planes(planes, alpha, first, last, out):
    """out[first:last] = alpha @ planes[:, first:last]

    planes  (T, w)  float
    alpha   (T,)    float64   many of them 0
    out     (w,)    float64   written in place
    """
    out[first:last] = 0.0
    for t in range(planes.shape[0]):
        weight = alpha[t]
        if weight != 0.0:
            for j in range(first, last):
                out[j] += weight * planes[t, j]
