"""Angles to cosines and sines: the loop behind `FourierMap`."""

__all__ = ["LOOPS"]

from mercer._native import trigonometric
from mercer._native.jit import jit


def _build_loop(cos_sin):
    @jit
    def cosines_and_sines(half_turns, scale, out):
        """out[:, :m] = scale * np.cos(np.pi * half_turns),  out[:, m:] = scale * np.sin(np.pi * half_turns)[:, :M - m]

        half_turns  (N, m)   float
        scale                float, of the same type
        out         (N, M)   float   written in place, M = 2m or 2m - 1
        """
        m = half_turns.shape[1]
        for i in range(half_turns.shape[0]):
            h, cosines, sines = half_turns[i], out[i, :m], out[i, m:]
            for k in range(sines.shape[0]):
                c, s = cos_sin(h[k])
                cosines[k] = scale * c
                sines[k] = scale * s
            for k in range(sines.shape[0], m):
                cosines[k] = scale * cos_sin(h[k])[0]

    return cosines_and_sines


# dtype character -> loop
LOOPS = {"f": _build_loop(trigonometric.cos_sin_single), "d": _build_loop(trigonometric.cos_sin_double)}
