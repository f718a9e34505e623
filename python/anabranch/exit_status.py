"""Exit statuses that all verbs share; those of one verb stand in its file."""

from __future__ import annotations

STATUS_BAD_INPUT = 2

STATUS_STOPPED = 130
"""Ended by Ctrl-C, as shells say it: 128 and the number of SIGINT."""
