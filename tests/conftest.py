"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# How long an example takes is the machine's business: no test asserts a time.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
