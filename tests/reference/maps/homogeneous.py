"""Twins of `mercer._native.maps.homogeneous`, `fourier` and `trigonometric`, by numpy in float64."""

import numpy as np


def log2_parts_double(x):
    logarithm = np.log2(np.asarray(x, dtype=np.float64))
    whole = np.rint(logarithm)
    return whole, logarithm - whole


def cos_sin_double(h):
    # whole turns are taken out before the multiplication by pi, which would round them
    h = np.asarray(h, dtype=np.float64)
    angle = np.pi * (h - 2 * np.rint(h / 2))
    return np.cos(angle), np.sin(angle)


log2_parts_single = log2_parts_double
cos_sin_single = cos_sin_double


def homogeneous_features(roots, amplitudes, pitch, out):
    r = np.asarray(roots, dtype=np.float64)
    angle = np.pi * np.sum(pitch, dtype=np.float64) * np.log2(np.abs(r), out=np.zeros_like(r), where=r != 0)
    columns = [amplitudes[0] * r]
    for j, amplitude in enumerate(amplitudes[1:], start=1):
        columns += [amplitude * r * np.cos(j * angle), amplitude * r * np.sin(j * angle)]
    out[:] = np.stack(columns, axis=1).ravel()


def widen_columns(columns, width, out):
    out[:] = (columns.astype(np.int64)[:, None] * width + np.arange(width)).ravel()


def cosines_and_sines(half_turns, scale, out):
    cosines, sines = cos_sin_double(half_turns)
    out[:] = np.hstack([scale * cosines, scale * sines])[:, : out.shape[1]]
