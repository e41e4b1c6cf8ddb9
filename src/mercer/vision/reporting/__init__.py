"""The report of a training: how good a classifier of images is, and the page that shows it."""
