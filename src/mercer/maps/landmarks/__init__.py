"""Maps through landmarks: how they are chosen, Nystroem, kernel PCA, sparse, per dimension."""
