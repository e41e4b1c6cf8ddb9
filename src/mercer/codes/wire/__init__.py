"""Bits for a wire: universal, quantized and learned embeddings, specified in integers."""
