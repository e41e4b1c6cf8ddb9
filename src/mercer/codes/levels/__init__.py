"""Values as levels, for intersection coordinate descent."""
