"""Finding objects in images: part models on cells of oriented gradients, kept as words or in full."""

from mercer.detection.box_files import boxes_of, read_boxes
from mercer.detection.detections import Detections
from mercer.detection.detector import PartDetector
from mercer.detection.evaluation import DetectionReport, average_precision, evaluate_detections

__all__ = [
    "DetectionReport",
    "Detections",
    "PartDetector",
    "average_precision",
    "boxes_of",
    "evaluate_detections",
    "read_boxes",
]
