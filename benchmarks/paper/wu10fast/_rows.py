"""What the tables of [wu10fast] on pedestrians share."""

from __future__ import annotations

from benchmarks.published import StandIn

INRIA = StandIn(
    "220 photos with people and 110 without, about 5,000 windows",
    "the whole INRIA set, 30,711 examples",
    "this part of the set is at hand; windows, blocks, descriptor and the two rounds of bootstrapping are those of "
    "the paper.",
)
