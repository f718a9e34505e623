"""Needs of tests, as markers: declared by what brings a world, found for every test, and held to while it runs.

`root`: privileges for namespaces and devices. `ovs`: programs of Open vSwitch. `bpf`: a kernel that takes datapaths.
`browser`: headless Chromium.
"""

from __future__ import annotations

import dis
import functools
import inspect
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from types import CodeType
from typing import Any, ParamSpec, TypeVar

import pytest

TESTS = Path(__file__).parents[1]
P = ParamSpec("P")
T = TypeVar("T")

marked: set[str] = set()
"""Markers of the test that runs."""


def brings(*needs: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declares what a function takes of the machine; it fails a test that calls it without these markers."""

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def called(*arguments: P.args, **named: P.kwargs) -> T:
            lacking = sorted(set(needs) - marked)
            assert not lacking, (
                f"{function.__name__} needs {', '.join(lacking)}: mark the test so (tests/support/needs.py)"
            )
            return function(*arguments, **named)

        return declares(*needs)(called)

    return declare


def declares(*needs: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Declares what tests take that call a function, or that use it as a decorator within themselves."""

    def declare(function: Callable[P, T]) -> Callable[P, T]:
        function.needs = frozenset(needs)  # type: ignore[attr-defined]
        return function

    return declare


@brings("ovs")
def need_open_vswitch() -> None:
    """Skips the test where Open vSwitch is missing."""
    if not shutil.which("ovs-vswitchd"):
        pytest.skip("ovs-vswitchd is missing: apt install openvswitch-switch")


def needs_of(functions: Iterable[Callable[..., Any]]) -> set[str]:
    """Needs of functions and of all that they call by name in the tests."""
    found: set[str] = set()
    seen: set[Any] = set()
    # A test that a decorator has put into a world of its own may bring another one itself.
    waiting = [each for function in functions for each in (function, inspect.unwrap(function))]
    while waiting:
        function = waiting.pop()
        if function in seen:
            continue
        seen.add(function)
        if hasattr(function, "needs"):
            found |= function.needs
        elif inspect.isfunction(inspect.unwrap(function)):
            plain = inspect.unwrap(function)
            if TESTS in Path(plain.__code__.co_filename).parents:
                named = (plain.__globals__.get(name) for name in _globals(plain.__code__))
                waiting += [one for one in named if callable(one) and inspect.isfunction(inspect.unwrap(one))]
    return found


def marks_of(*functions: Callable[..., Any]) -> list[pytest.MarkDecorator]:
    """Markers for a parameter whose world these functions bring."""
    return [getattr(pytest.mark, need) for need in sorted(needs_of(functions))]


def mark(item: pytest.Function) -> None:
    """Gives a test the markers of its own needs and of its fixtures'."""
    fixtures = [definitions[-1].func for definitions in item._fixtureinfo.name2fixturedefs.values()]
    for need in sorted(needs_of([item.function, *fixtures])):
        item.add_marker(need)


@functools.cache
def _globals(code: CodeType) -> frozenset[str]:
    """Global names that a function's code loads, nested functions included."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals(constant)
    return frozenset(found)
