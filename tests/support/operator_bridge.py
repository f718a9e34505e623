"""A bridge that an operator uses as well, and plans to put on it."""

from __future__ import annotations

import re
from pathlib import Path

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.command import Run, anabranch
from support.dummy_switch import BRIDGE, ofctl

OPERATORS = (
    ("add-group", "group_id=7,type=select,selection_method=hash,fields(ip_src),bucket=output:2,bucket=output:3"),
    ("add-meter", "meter=3,kbps,band=type=drop,rate=100"),
    ("add-flow", "table=0,priority=5000,cookie=0xabc,in_port=2,arp,actions=group:7"),
    ("add-flow", "table=0,priority=1024,udp,actions=drop"),
    ("add-flow", "table=0,priority=0,actions=NORMAL"),
    ("add-flow", "table=200,priority=1,reg0=3,reg1=9,actions=drop"),
)
GROUP = """
[[group]]
name = "leaf{leaf}"
match = {{ ip_dst = "10.0.{leaf}.0/24", arp = true }}
ports = ["p1", "p2", "p3"]
weights = {weights}
recipe = "{recipe}"
"""


def held(switch: OpenVSwitch) -> list[str]:
    """All that is there, as `ovs-ofctl` says it."""
    dumps = (ofctl(switch, f"dump-{what}") for what in ("flows", "groups", "meters"))
    return sorted(re.sub(r" xid=\S+", "", line) for dump in dumps for line in dump.splitlines())


def held_at_rest(switch: OpenVSwitch) -> list[str]:
    """The same, when two looks at it agree: what a client sent before it was killed may still be taken."""
    before, after = None, held(switch)
    while after != before:
        before, after = after, held(switch)
    return after


def written(folder: Path, *groups: str, owner: int = 1, head: str = "seed = 7") -> Path:
    file = folder / f"plan{owner}.toml"
    file.write_text("\n".join([f"owner = {owner}", head, *groups]))
    return file


def group(leaf: int, weights: str = "[4, 3, 2]", recipe: str = "hash-gravity") -> str:
    return GROUP.format(leaf=leaf, weights=weights, recipe=recipe)


def verb(name: str, plan: Path, switch: OpenVSwitch, *options: str, status: int = 0) -> Run:
    run = anabranch(name, str(plan), "--openflow", switch.openflow(BRIDGE), *options)
    assert run.returncode == status, (run.stdout, run.stderr)
    return run
