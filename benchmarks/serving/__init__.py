"""The service: how long answers take, and what it does with what is not a request."""
