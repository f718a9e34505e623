"""A datapath as a switch, whatever a process that was killed in the middle of a change has left of it."""

from __future__ import annotations

import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch import _core
from anabranch.deploy.targets.ebpf.datapath import NEW, OLD
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.switch import find, ports_of, stand
from support.lab_fixture import need_kernel_lab
from support.own_namespace import in_own_namespace

DEVICES = ("in0", "in1")


@contextmanager
def folder() -> Iterator[Path]:
    """Settings of a datapath in this thread's namespace, whose devices exist."""
    for number, device in enumerate(DEVICES):
        subprocess.run(["ip", "link", "add", device, "type", "veth", "peer", f"out{number}"], check=True)
    place = own_folder() / f"test-{secrets.token_hex(4)}"
    # The kernel uses the number again that a namespace of another test had, by which this one's folder is called.
    shutil.rmtree(place.parent, ignore_errors=True)
    try:
        yield place
    finally:
        for each in (place, place.with_name(place.name + NEW), place.with_name(place.name + OLD)):
            found = _core.KernelDatapath.open(each)
            if found is not None:
                found.remove()
        if place.parent.is_dir() and not any(place.parent.iterdir()):
            place.parent.rmdir()


def ports() -> list[int]:
    return [socket.if_nametoindex(device) for device in DEVICES]


def group(*weights: int) -> _core.KernelGroup:
    targets = [socket.if_nametoindex(f"out{number}") for number in range(len(weights))]
    return _core.KernelGroup("leaf1", ["10.1.1.0/24"], targets, list(weights), [True] * len(weights), "redirect")


@in_own_namespace
def test_it_is_made_changed_and_given_more_room() -> None:
    need_kernel_lab()
    with folder() as place:
        assert find(place) is None
        made = stand(place, "slots", [group(1, 1)], ports())
        assert ports_of(made) == frozenset(ports())
        same = stand(place, "slots", [group(3, 1)], ports()[:1])
        assert ports_of(same) == frozenset(ports()[:1])
        assert made.observed() == [group(3, 1)]
        more = [group(1, 1), _core.KernelGroup("leaf2", ["10.1.2.0/24"], ports(), [1, 1], [True, True], "redirect")]
        large = stand(place, "slots", more, ports())
        assert large.group_capacity >= 2
        assert sorted(one.name for one in large.observed()) == ["leaf1", "leaf2"]
        assert ports_of(large) == frozenset(ports())
        assert [path.name for path in place.parent.iterdir()] == [place.name]
        # A device that went away is forgotten.
        subprocess.run(["ip", "link", "del", "in1"], check=True)
        large = stand(place, "slots", more, [socket.if_nametoindex("in0")])
        assert large.attachments() == [(socket.if_nametoindex("in0"), "ingress", True)]


@in_own_namespace
def test_a_change_that_was_cut_off_is_undone_or_ended() -> None:
    need_kernel_lab()
    with folder() as place:
        new, old = (place.with_name(place.name + suffix) for suffix in (NEW, OLD))
        before = stand(place, "slots", [group(1, 1)], ports())
        # The second has taken the first port only: the first has it back.
        after = _core.KernelDatapath.create(new, "score", 1, 2)
        after.put([group(1, 2)])
        after.replace(before, ports()[0], "ingress")
        found = find(place)
        assert found is not None
        assert (found.scheme, ports_of(found)) == ("slots", frozenset(ports()))
        assert not new.exists()
        # The second has all ports, and the first is about to go: the second takes its name.
        after = _core.KernelDatapath.create(new, "score", 1, 2)
        after.put([group(1, 2)])
        for port in ports():
            after.replace(found, port, "ingress")
        place.rename(old)
        found = find(place)
        assert found is not None
        assert (found.scheme, found.observed(), ports_of(found)) == ("score", [group(1, 2)], frozenset(ports()))
        assert not new.exists()
        assert not old.exists()


@in_own_namespace
def test_without_groups_nothing_is_dropped_that_is_not_ours() -> None:
    need_kernel_lab()
    with folder() as place:
        made = stand(place, "slots", [], ports())
        assert made.routed
        assert made.observed() == []
        with pytest.raises(ValueError, match="device"):
            made.attach(999_999, "ingress")
