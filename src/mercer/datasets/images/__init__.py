"""Images and descriptors of images."""
