"""An index whose rows live in PostgreSQL or Milvus."""
