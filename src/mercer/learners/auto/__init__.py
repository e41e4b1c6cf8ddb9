"""What is measured before a fit with ``kernel=None``: scaling of the columns, kernel, width and penalty, by trials."""
