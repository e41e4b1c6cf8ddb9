"""PostgreSQL with pgvector: the store, tables, writing, registry, connection."""
