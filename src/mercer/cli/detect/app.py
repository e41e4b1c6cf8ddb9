"""``mercer detect``: train detectors of objects, run them, and measure them."""

__all__ = ["app"]

from mercer.cli.detect.evaluate import evaluate
from mercer.cli.detect.run import run
from mercer.cli.detect.train import train
from mercer.cli.framework.commands import group

ABOUT = """Find objects in images.

Train a detector on images with boxes around the objects and on images without objects. It models the whole object and
its movable parts, on gradients stored in one byte per cell.
"""
EXAMPLES = """
Train on a folder of photographs and the boxes of the persons in some of them:
  mercer detect train --images photos --boxes boxes.csv --out person.mercer

Find persons in other photographs, as pictures and as csv lines; measure the detector:
  mercer detect run person.mercer new --out overlays
  mercer detect evaluate person.mercer --images test --boxes test.csv
"""

app = group(ABOUT, EXAMPLES, train, run, evaluate)
