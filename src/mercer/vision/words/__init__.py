"""Images as words: vocabularies, bags of words, Fisher vectors, spatial pyramids."""
