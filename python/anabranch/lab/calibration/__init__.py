"""Limits of the machine: rate of forwarding, its delay, the length of an interruption, known before results count."""
