"""Tables and figures of [gavves12convex], one file each."""
