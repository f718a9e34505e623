"""Verdicts for people: tables, figures, a page, and plain data."""
