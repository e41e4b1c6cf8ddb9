"""Local and global descriptors of images: HOG, dense SIFT, CENTRIST, colors."""
