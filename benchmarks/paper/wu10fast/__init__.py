"""Tables and figures of [wu10fast], one file each."""
