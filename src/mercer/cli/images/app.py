"""``mercer images``: from a folder of images to a classifier that says why."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.images.evaluate import evaluate
from mercer.cli.images.explain import explain
from mercer.cli.images.predict import predict
from mercer.cli.images.rows import rows
from mercer.cli.images.train import train

ABOUT = """Classify images, and see why.

Each image becomes a histogram of visual words, which describe its patches. A kernel classifier then compares the
histograms. For rows of numbers, use mercer fit and mercer predict.
"""
EXAMPLES = """
Train on a folder with one subfolder of images per class; also writes a report page:
  mercer images train flowers --out flowers.mercer

Predict, evaluate and explain other images:
  mercer images predict flowers.mercer new/*.jpg
  mercer images evaluate flowers.mercer test
  mercer images explain flowers.mercer new/rose.jpg --out rose.png
"""

app = group(ABOUT, EXAMPLES, train, predict, explain, evaluate, rows)
