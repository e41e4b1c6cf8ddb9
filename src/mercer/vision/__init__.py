"""Images as numbers: reading them, and describing them as a whole or patch by patch."""

from mercer.vision._bag_of_words import BagOfWords
from mercer.vision._batches import SkippedImagesWarning, describe_images
from mercer.vision._centrist import CENTRIST, LocalCENTRIST, centrist
from mercer.vision._color_histogram import ColorHistogram, color_histogram
from mercer.vision._descriptors import Descriptors
from mercer.vision._downscaled import Downscaled
from mercer.vision._encoder import Encoding
from mercer.vision._explaining import Explanation
from mercer.vision._fisher import FisherVectors
from mercer.vision._folders import image_folder
from mercer.vision._hog import flip_hog, hog, hog_shape
from mercer.vision._image_classifier import ImageClassifier
from mercer.vision._images import read_image, resize
from mercer.vision._located_words import LocatedWords, locate_words
from mercer.vision._sift import DenseSIFT, dense_sift
from mercer.vision._transformer import HOG
from mercer.vision._vocabulary import Vocabulary

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
    "Vocabulary",
    "centrist",
    "color_histogram",
    "dense_sift",
    "describe_images",
    "flip_hog",
    "hog",
    "hog_shape",
    "image_folder",
    "locate_words",
    "read_image",
    "resize",
]
