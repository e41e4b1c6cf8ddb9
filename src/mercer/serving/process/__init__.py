"""Processes of a service: server, workers, batches, settings, the model in use, logs and metrics."""
