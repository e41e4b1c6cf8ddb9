"""``mercer detect``: train detectors of objects, run them, and measure them."""

__all__ = ["app"]

from mercer.cli.detect.evaluate import evaluate
from mercer.cli.detect.run import run
from mercer.cli.detect.train import train
from mercer.cli.framework.commands import group

ABOUT = """Find objects in images.

A detector is learned from images with boxes around the objects and from images without objects. It is a model of the
whole object and of parts that may move, on gradients kept as one byte per cell.
"""
EXAMPLES = """
A folder of photographs, and the boxes of the persons in some of them:
  mercer detect train --images photos --boxes boxes.csv --out person.mercer

What it finds in others, as pictures and as lines; how good it is:
  mercer detect run person.mercer new --out overlays
  mercer detect evaluate person.mercer --images test --boxes test.csv
"""

app = group(ABOUT, EXAMPLES, train, run, evaluate)
