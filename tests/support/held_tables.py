"""All that bridges hold, ours and an operator's, as `ovs-ofctl` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from anabranch.files.errors import AnabranchError

OPERATORS_FLOW = "cookie=0x7,table=0,priority=7,udp,nw_dst=192.0.2.7 actions=drop"
OPERATORS_GROUP = "group_id=7,type=all,bucket=actions=drop"
OPERATORS_METER = "meter=7,kbps,bands=type=drop rate=7"


def operate(ovs: OpenVSwitch, bridges: Iterable[str]) -> None:
    """Adds what the operator has in every bridge."""
    for bridge in bridges:
        ovs.ofctl("add-flow", bridge, OPERATORS_FLOW)
        ovs.ofctl("add-group", bridge, OPERATORS_GROUP)
        ovs.ofctl("add-meter", bridge, OPERATORS_METER)


def answer(ovs: OpenVSwitch, bridges: Iterable[str]) -> bool:
    """Whether all bridges are there."""
    try:
        for bridge in bridges:
            ovs.ofctl("show", bridge)
    except AnabranchError:
        return False
    return True


def held(ovs: OpenVSwitch, bridges: Iterable[str]) -> dict[str, list[str]]:
    """All that each bridge holds, without counters, sorted."""
    found = {}
    for bridge in bridges:
        flows = ovs.ofctl("dump-flows", bridge, "--no-stats").splitlines()
        groups, meters = (ovs.ofctl(command, bridge).splitlines() for command in ("dump-groups", "dump-meters"))
        lines = [line.strip() for line in (*flows, *groups, *meters) if "OFPST" not in line]
        found[bridge] = sorted(line for line in lines if line)
    return found


def empty(ovs: OpenVSwitch, bridges: Iterable[str]) -> None:
    """Removes everything, and adds what is the operator's."""
    for bridge in bridges:
        for command in ("del-flows", "del-groups", "del-meters"):
            ovs.ofctl(command, bridge)
        operate(ovs, [bridge])


def operators(lines: list[str]) -> list[str]:
    """Which of them are the operator's."""
    return [line for line in lines if re.match(r"cookie=0x7,|group_id=7,|meter=7 ", line)]


def assert_same(found: dict[str, list[str]], anew: dict[str, list[str]]) -> None:
    """Nothing is left over, nothing is missing, and the operator's is as it was."""
    for bridge, lines in found.items():
        assert len(operators(lines)) == 3, bridge
        assert any("cookie=0xab5a" in line for line in lines), bridge
        assert lines == anew[bridge], bridge
