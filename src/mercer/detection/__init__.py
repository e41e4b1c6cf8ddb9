"""Finding objects in images: part models on cells of oriented gradients, kept as words or in full."""

from mercer.detection._box_files import boxes_of, read_boxes
from mercer.detection._detections import Detections
from mercer.detection._detector import PartDetector
from mercer.detection._evaluation import DetectionReport, average_precision, evaluate_detections

__all__ = [
    "DetectionReport",
    "Detections",
    "PartDetector",
    "average_precision",
    "boxes_of",
    "evaluate_detections",
    "read_boxes",
]
