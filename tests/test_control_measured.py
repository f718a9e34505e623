"""What the controller measures of packets that really pass, and what it makes of it."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dummy_fabric import DummyFabric, Running, dummy_fabric, members

pytestmark = pytest.mark.skipif(not shutil.which("ovs-vswitchd"), reason="ovs-vswitchd: apt install openvswitch-switch")

FOREIGN_PORT = 9


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings='[measure]\ninterval = "200 ms"', rate="4 Mbps") as found:
        yield found


def send(fabric: DummyFabric, source_ports: list[int], target_port: int) -> None:
    """Frames of 1000 bytes from host0 to host1."""
    for port in source_ports:
        headers = f"udp(src={port},dst={target_port})"
        flow = f"in_port(1),eth(src=00:00:00:00:00:01,dst=00:00:00:00:00:02),eth_type(0x0800),{IP},{headers}"
        fabric.open_vswitch.appctl("netdev-dummy/receive", "leaf0-host0", flow, "--len", "1000")


IP = "ipv4(src=10.1.0.1,dst=10.1.1.1,proto=17,tos=0,ttl=64,frag=no)"


@asynccontextmanager
async def sending(fabric: DummyFabric, ports: Callable[[], list[int]], target_port: int) -> AsyncIterator[None]:
    """Sends in the background."""

    async def forever() -> None:
        while True:
            await asyncio.to_thread(send, fabric, ports(), target_port)
            await asyncio.sleep(0.04)

    task = asyncio.create_task(forever())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_shares_are_measured(fabric: DummyFabric) -> None:
    stream = random.Random(1)

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            async with sending(fabric, lambda: [stream.randrange(1024, 65536) for _ in range(50)], 80):
                found = await running.until(lambda one: one.groups[0].measured_bytes >= 100_000)
            (group,) = [one for one in found.groups if (one.switch, one.leaf) == ("leaf0", "leaf1")]
            shares = [member.measured_share or 0.0 for member in group.members]
            assert sum(shares) == pytest.approx(1)
            # At least 100 flows of one packet: six standard deviations of a fair coin.
            assert shares[0] == pytest.approx(0.5, abs=6 * 0.5 / 100**0.5)
            assert max(max(rate or 0.0 for rate in link.load_bps) for link in found.links) > 0

    asyncio.run(follow())


def test_weights_give_way_to_foreign_load(fabric: DummyFabric) -> None:
    bridge = fabric.open_vswitch.openflow("leaf0")
    rule = f"priority=40000,udp,tp_dst={FOREIGN_PORT},actions=output:leaf0-spine1"
    subprocess.run(["ovs-ofctl", "-O", "OpenFlow15", "--names", "add-flow", bridge, rule], check=True)

    async def follow() -> None:
        async with Running(fabric.file('weights = "load"\nload = { threshold = 0.02 }')) as running:
            found = await running.converged()
            assert members(found, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}

            def shifted(weights: dict[str, int]) -> bool:
                return weights["spine0"] > 1.2 * weights["spine1"]

            async with sending(fabric, lambda: [7] * 20, FOREIGN_PORT):
                await running.until(lambda one: shifted(members(one, "leaf0", "leaf1")) and one.converged)
                (group,) = await fabric.groups("leaf0")
                by_path = {bucket.bucket_id: bucket.weight for bucket in group.buckets}
                assert by_path[0] > by_path[1]
                # The way back is not loaded.
                assert members(running.controller.snapshot(), "leaf1", "leaf0") == {"spine0": 1, "spine1": 1}
            await running.until(lambda one: not shifted(members(one, "leaf0", "leaf1")) and one.converged)

    asyncio.run(follow())
