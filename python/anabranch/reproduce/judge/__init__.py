"""Verdicts: theory against ours, ours against the paper."""
