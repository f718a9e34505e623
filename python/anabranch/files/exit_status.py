"""Exit statuses that all verbs share; those of a single verb are in its file."""

from __future__ import annotations

STATUS_BAD_INPUT = 2

STATUS_UNAVAILABLE = 75
"""Status of a command that runs all the time and may succeed later, as it is: `EX_TEMPFAIL` of sysexits.h."""

STATUS_STOPPED = 130
"""Status after Ctrl-C, as shells define it: 128 and the number of SIGINT."""
