"""Runs: scenario in, folder of results out."""
