"""What is served: the face of a model, its neighbors, their labels."""
