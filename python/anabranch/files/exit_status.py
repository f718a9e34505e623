"""Exit statuses that all verbs share; those of a single verb are in its file."""

from __future__ import annotations

STATUS_BAD_INPUT = 2

STATUS_STOPPED = 130
"""Status after Ctrl-C, as shells define it: 128 and the number of SIGINT."""
