"""Tables and figures of [boufounos15universal], one file each."""
