"""Latent training: initial model, rounds, positives, mined examples, the bounded problem, checkpoints."""
