"""Plain twins of mercer._native.learners.planes."""


def dot_planes(planes, p, first, last, out):
    out += planes[:, first:last].astype(float) @ p[first:last].astype(float)


def combine_planes(planes, alpha, first, last, out):
    out[first:last] = alpha @ planes[:, first:last].astype(float)
