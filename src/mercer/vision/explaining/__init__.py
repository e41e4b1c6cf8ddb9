"""Why a class: patches and words of an image, and their pictures."""
