"""Figures, one file per kind, drawn by matplotlib without a display."""
