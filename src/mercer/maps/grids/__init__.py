"""Maps of additive kernels on the points of a grid."""
