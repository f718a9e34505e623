"""Switches of this target as the controller follows them."""
