"""Bodies of requests: rows and codes as JSON or messages, tables as csv, pictures as PNG or JPEG; columns by name."""
