"""Plans of very many groups: steps grow with their number and no faster, and what has no room is refused at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from anabranch import AnabranchError
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets.ebpf import desired as ebpf
from anabranch.deploy.targets.ebpf import plan_file as ebpf_plan
from anabranch.deploy.targets.linux import desired as linux
from anabranch.deploy.targets.linux import plan_file as linux_plan
from anabranch.deploy.targets.linux.observe import LinuxState
from anabranch.deploy.targets.ovs import desired as ovs
from anabranch.deploy.targets.ovs import plan_file as ovs_plan
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.registry import plan_forms
from anabranch.deploy.targets.table import desired as table
from anabranch.deploy.targets.table import plan_file as table_plan
from anabranch.split.splitter import Splitter

PORTS = {"p1": 1, "p2": 2}
DEVICES = {name: Device(number, name, True, True) for name, number in {**PORTS, "in": 3}.items()}
SLOPE_MOST = 4.5
"""Steps for four times as many groups, of those for one: 4 where they are linear, 16 where they are quadratic."""


def plan(groups: int, head: str = "") -> str:
    return head + "\n".join(
        f'[[group]]\nname = "g{n}"\nmatch = {{ ip_dst = ["10.{n >> 8 & 255}.{n & 255}.{n >> 16 << 4}/28"] }}\n'
        'ports = ["p1", "p2"]\nweights = [3, 1]\n'
        for n in range(groups)
    )


def in_bridge(groups: int) -> None:
    """In a fresh bridge, then in one that has it."""
    parsed = ovs_plan.parse(plan(groups, "seed = 7\n"), "plan.toml")
    first = ovs.desired(parsed, PORTS, Tables(), 0)
    again = ovs.desired(parsed, PORTS, first.tables, 0)
    assert not TablesChange.between(first.tables, again.tables).lines()


def in_kernel(groups: int) -> None:
    """In a kernel without history, then in one that has it."""
    parsed = linux_plan.parse(plan(groups), "plan.toml")
    first = linux.desired(parsed, LinuxState(), DEVICES, 65535)
    assert len(first.state.groups) == groups
    assert linux.desired(parsed, first.state, DEVICES, 65535).state == first.state


def in_datapath(groups: int) -> None:
    parsed = ebpf_plan.parse(plan(groups, 'seed = 7\n[switch]\ndev = ["in"]\n'), "plan.toml")
    assert len(ebpf.desired(parsed, DEVICES, None).groups) == groups


def in_tables(groups: int) -> None:
    parsed = table_plan.FORM.parse(plan(groups, "seed = 7\n"), "plan.toml")
    assert len(table.desired(parsed).state.tables) == groups


@contextmanager
def counted() -> Iterator[list[int]]:
    """Counts the instructions of targets that Python runs."""
    steps = [0]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "/deploy/targets/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        steps[0] += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield steps
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("put", [in_bridge, in_kernel, in_datapath, in_tables])
def test_steps_grow_as_groups_do(put: Callable[[int], None]) -> None:
    put(2)
    with counted() as few:
        put(100)
    with counted() as many:
        put(400)
    assert many[0] < SLOPE_MOST * few[0]


@pytest.mark.parametrize(("target", "most"), [("ovs", 1024), ("linux", 32_768), ("ebpf", 4096)])
def test_more_groups_than_there_is_room_for_are_refused_before_any_is_read(target: str, most: int) -> None:
    with pytest.raises(AnabranchError) as refused:
        plan_forms()[target].parse("[[group]]\n" * (most + 1), "plan.toml")
    assert str(refused.value) == (
        f"plan.toml: group: {most + 1:,} of them: a plan has at most {most:,} here; write several"
    )
    with pytest.raises(AnabranchError, match="group 1: name: missing"):
        plan_forms()[target].parse("[[group]]\n" * most, "plan.toml")


def test_the_room_of_a_datapath_is_the_kernel_halfs() -> None:
    source = Path(__file__).parents[3] / "crates" / "kernel" / "src" / "datapath.rs"
    assert f"GROUPS_MAX: u32 = {ebpf_plan.GROUPS_MAX};" in source.read_text()


@pytest.mark.parametrize("put", [in_bridge, in_kernel, in_datapath, in_tables])
def test_groups_of_the_same_weights_are_computed_once(
    put: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, make = [0], Splitter.__init__

    def counts(self: Splitter, *given: Any, **parameters: Any) -> None:
        calls[0] += 1
        make(self, *given, **parameters)

    monkeypatch.setattr(Splitter, "__init__", counts)
    put(2)
    before = calls[0]
    put(50)
    assert calls[0] == before
