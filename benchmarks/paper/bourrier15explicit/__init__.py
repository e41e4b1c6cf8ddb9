"""Tables and figures of [bourrier15explicit], one file each."""
