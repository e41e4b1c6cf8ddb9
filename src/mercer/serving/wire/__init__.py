"""Bits over a wire: messages, a classifier at several rates, accuracy against bits.

Messages are offered here; they need nothing but numpy.
"""

from mercer.serving.wire.messages import Message, WireError, pack_message, unpack_message

__all__ = ["Message", "WireError", "pack_message", "unpack_message"]
