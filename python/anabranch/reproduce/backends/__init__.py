"""Backends: what produces the values of a study. Each is a package with the name that study files give."""
