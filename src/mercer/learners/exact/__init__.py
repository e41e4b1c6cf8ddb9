"""Machines on exact kernel values, for rows whose Gram matrix fits into memory."""
