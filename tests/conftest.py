"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes, or finding one, is the machine's business: no test asserts a time.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time: what passed here passes there. `pytest --hypothesis-profile=search` looks for others.
settings.register_profile("any-machine", settings.get_profile("search"), derandomize=True)
settings.load_profile("any-machine")
