"""Markers say what tests need of the machine: found for every test, and held to while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support import needs
from support.dummy_switch import dummy_switch
from support.lab_fixture import kernel_lab_of, lab_of, need_lab
from support.lab_pair import shaped_pair
from support.needs import brings, needs_of
from support.own_datapaths import with_own_datapaths
from support.own_namespace import in_own_namespace


def by_a_helper() -> None:
    """Calls what brings a world by way of another function."""

    def inner() -> None:
        in_a_lab()

    inner()


def in_a_lab() -> None:
    """Calls what brings a world."""
    need_lab()


def datapath_within() -> None:
    """Puts a part of itself into a world."""

    @with_own_datapaths
    def run() -> None:
        pass

    run()


@in_own_namespace
def with_a_switch() -> None:
    """Brings a world within another one."""
    with dummy_switch():
        pass


def nothing() -> None:
    """Stays where it is."""


CASES: list[tuple[Callable[..., Any], set[str]]] = [
    (nothing, set()),
    (by_a_helper, {"root"}),
    (datapath_within, {"root", "bpf"}),
    (with_a_switch, {"root", "ovs"}),
    (shaped_pair, {"root"}),
    (lab_of, {"root", "ovs"}),
    (kernel_lab_of, {"root", "bpf"}),
    (dummy_switch, {"ovs"}),
]


@pytest.mark.parametrize(("function", "expected"), CASES)
def test_needs_are_found_through_all_that_is_called(function: Callable[..., Any], expected: set[str]) -> None:
    assert needs_of([function]) == expected


def test_a_test_that_lacks_a_marker_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    @brings("root", "bpf")
    def world() -> str:
        return "there"

    monkeypatch.setattr(needs, "marked", {"root"})
    with pytest.raises(AssertionError, match="world needs bpf: mark the test so"):
        world()
    monkeypatch.setattr(needs, "marked", {"root", "bpf"})
    assert world() == "there"
