"""Scenarios as values that show and draw themselves, in a program or a notebook."""
