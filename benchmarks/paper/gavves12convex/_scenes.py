"""What the tables of [gavves12convex] share: the images that take the place of the paper's."""

from __future__ import annotations

from benchmarks.published import StandIn

STEP = StandIn(
    "dense SIFT every 4 pixels, k-means words, nearest words by HNSW",
    "dense SIFT every 2 pixels, approximate k-means",
    "a grid of 4 pixels has a quarter of the descriptors; the images are those of Scenes-15, with the usual split.",
)
VOC = StandIn(None, "PASCAL VOC 2007", "its photographs are not at hand.")
MACHINE = StandIn(
    "one-vs-rest support vector machines on Gram matrices, C chosen on held-out training images",
    "Pegasos",
    "an exact solver has no spread over runs.",
)


def seconds(value):
    return None if value in ("", None) else value
