"""Storage of rows: snapshots and transactions, in memory or in a directory."""
