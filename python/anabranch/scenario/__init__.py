"""Scenarios and studies as Python values: made in a program or a notebook, read from TOML and written to it."""
