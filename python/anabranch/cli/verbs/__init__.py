"""Verbs of the command line, one file each, found by themselves."""
