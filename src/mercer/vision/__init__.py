"""Images as numbers: reading them, and describing them as a whole or patch by patch."""

from mercer.vision.classifier import ImageClassifier
from mercer.vision.descriptors.base import Descriptors
from mercer.vision.descriptors.centrist import CENTRIST, LocalCENTRIST, centrist
from mercer.vision.descriptors.color_histogram import ColorHistogram, color_histogram
from mercer.vision.descriptors.downscaled import Downscaled
from mercer.vision.descriptors.hog import flip_hog, hog, hog_shape
from mercer.vision.descriptors.hog_rows import HOG
from mercer.vision.descriptors.sift import DenseSIFT, dense_sift
from mercer.vision.explaining.explanation import Explanation
from mercer.vision.explaining.located_words import LocatedWords, locate_words
from mercer.vision.reading.batches import SkippedImagesWarning, describe_images
from mercer.vision.reading.folders import image_folder, images_below
from mercer.vision.reading.images import read_image, resize
from mercer.vision.reporting.training import TrainingReport
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.encoder import Encoding
from mercer.vision.words.fisher import FisherVectors
from mercer.vision.words.vocabulary import Vocabulary

__all__ = [
    "CENTRIST",
    "HOG",
    "BagOfWords",
    "ColorHistogram",
    "DenseSIFT",
    "Descriptors",
    "Downscaled",
    "Encoding",
    "Explanation",
    "FisherVectors",
    "ImageClassifier",
    "LocalCENTRIST",
    "LocatedWords",
    "SkippedImagesWarning",
    "TrainingReport",
    "Vocabulary",
    "centrist",
    "color_histogram",
    "dense_sift",
    "describe_images",
    "flip_hog",
    "hog",
    "hog_shape",
    "image_folder",
    "images_below",
    "locate_words",
    "read_image",
    "resize",
]
