"""Images as numbers: reading them, and histograms of oriented gradients."""

from mercer.vision._folders import image_folder
from mercer.vision._hog import flip_hog, hog, hog_shape
from mercer.vision._images import read_image, resize
from mercer.vision._transformer import HOG

__all__ = ["HOG", "flip_hog", "hog", "hog_shape", "image_folder", "read_image", "resize"]
