"""Promises under attack: interrupts, flipped bits and kills; nothing wrong comes of them."""
