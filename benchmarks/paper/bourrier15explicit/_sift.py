"""What the tables of [bourrier15explicit] share: the descriptors that take the place of the paper's."""

from __future__ import annotations

from benchmarks.published import StandIn

SIFT = StandIn(
    "SIFT descriptors of the Scenes-15 images (`mercer datasets scenes-sift`)",
    "SIFT1M and BIGANN",
    "of SIFT1M only 20,000 base rows are at hand; descriptors of detected points of other photographs, as many, are.",
)


def mean(text):
    """The first number of '0.612 +- 0.004'."""
    return None if not text else float(text.split(" ")[0])
