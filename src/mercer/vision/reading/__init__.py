"""Images in: files, folders, batches, samples, a cache, colors, steps of pipelines."""
