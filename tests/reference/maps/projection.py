"""The twin of `mercer._native.maps.projection`."""


def project_few(values, weights, out):
    out += values @ weights
