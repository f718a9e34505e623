"""Settings of all tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support import needs

# How long an example takes, or finding one, is the machine's business: no test asserts a time.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time: what passed here passes there. `pytest --hypothesis-profile=search` looks for others.
settings.register_profile("any-machine", settings.get_profile("search"), derandomize=True)
settings.load_profile("any-machine")

OWN_WORLD = Path(__file__).parent / "own_world.sh"


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Begins again in a world of its own, as root; workers of pytest-xdist inherit it."""
    # Tests start hundreds of interpreters: without bytecode on disk each compiles all that it imports.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    mounts = Path("/proc/self/ns/mnt")
    if sys.platform != "linux" or os.geteuid() != 0 or os.environ.get("ANABRANCH_OWN_WORLD") == str(mounts.readlink()):
        return
    # Else what is printed from here on goes into a file of this process.
    config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(OWN_WORLD, [str(OWN_WORLD), sys.executable, *sys.orig_argv[1:]])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks what each test needs, and leaves slow tests to those who ask for them.

    Tests that share what is made once for their module stay on one worker of pytest-xdist (`--dist loadgroup`).
    """
    if "slow" not in config.option.markexpr:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    for item in items:
        if isinstance(item, pytest.Function):
            needs.mark(item)
            shared = item._fixtureinfo.name2fixturedefs.values()
            if any(definitions[-1].scope == "module" for definitions in shared):
                item.add_marker(pytest.mark.xdist_group(item.module.__name__))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Sees that pytest-xdist keeps groups together: where it does not, they are made once for every worker."""
    if getattr(session.config.option, "loadgroup", False):
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError(f"{item.nodeid}: pytest-xdist has not grouped it; install requirements.lock")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Says which markers the test has to what brings worlds."""
    needs.marked = {marker.name for marker in item.iter_markers()}
