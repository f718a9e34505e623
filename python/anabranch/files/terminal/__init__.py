"""Stdout and stderr of a terminal: consoles, tables without lines, progress."""
