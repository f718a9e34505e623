"""Switches of a lab, one folder for each target that has them."""
