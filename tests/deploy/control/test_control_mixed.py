"""Linux leaves beside a spine that is a bridge of Open vSwitch, in one fabric."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.dummy_fabric import Running, members
from support.needs import need_open_vswitch
from support.own_namespace import in_own_namespace
from support.routed_fabric import RoutedFabric, routed_fabric

ONE = "10.1.1.0/24"
BOTH = {"leaf0-spine0": 1, "leaf0-spine1": 1}


@contextmanager
def bridge(fabric: RoutedFabric, spine: str, folder: Path) -> Iterator[None]:
    """A bridge in userspace on the ports of a spine."""
    switch = OpenVSwitch(folder, enter=["nsenter", f"--net={fabric.namespace(spine)}"])
    try:
        switch.start()
        ports = [word for leaf in ("leaf0", "leaf1") for word in ("--", "add-port", spine, f"{spine}-{leaf}")]
        switch.vsctl("add-br", spine, "--", "set", "bridge", spine, "datapath_type=netdev", "fail-mode=secure", *ports)
        fabric.reached[spine] = f'openflow = "{switch.openflow(spine)}"\novsdb = "{switch.database}"'
        yield
    finally:
        switch.stop()


@in_own_namespace
def test_linux_leaves_have_a_bridge_for_a_spine(tmp_path: Path) -> None:
    need_open_vswitch()
    with routed_fabric(bare=("spine1",)) as fabric, bridge(fabric, "spine1", tmp_path):
        fabric.pass_frames("spine1")
        # In userspace a bridge leaves checksums as they are, and a veth's are still to be made.
        for leaf in ("leaf0", "leaf1"):
            fabric.run(leaf, "ethtool", "-K", f"{leaf}-spine1", "tx", "off")

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                await running.converged()
                assert fabric.split("leaf0", ONE) == BOTH
                for version in (4, 6):
                    before = fabric.sent("leaf0")
                    assert await asyncio.to_thread(fabric.arrived, 100, version=version) == 100
                    after = fabric.sent("leaf0")
                    assert all(after[uplink] - before[uplink] > 20 for uplink in BOTH)
                # Each kind learns of what the other has lost, and of its return.
                fabric.link("spine1-leaf1", up=False)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1})
                await running.converged()
                assert fabric.split("leaf0", ONE) == {"leaf0-spine0": 1}
                assert await asyncio.to_thread(fabric.arrived, 100) == 100
                fabric.link("spine1-leaf0", up=False)
                await running.until(lambda one: members(one, "spine1", "leaf0") == {})
                fabric.link("spine1-leaf0", up=True)
                fabric.link("spine1-leaf1", up=True)
                await running.until(lambda one: members(one, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1})
                await running.converged()
                assert fabric.split("leaf0", ONE) == BOTH
                assert await asyncio.to_thread(fabric.arrived, 100) == 100

        asyncio.run(follow())
