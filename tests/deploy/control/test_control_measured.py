"""Measurements of the controller on packets that really pass, and its reactions."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.deploy.control.state import GroupState, Snapshot
from support.dummy_fabric import DummyFabric, Running, dummy_fabric, members
from support.dummy_traffic import sending

FOREIGN_PORT = 9


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings='[measure]\ninterval = "500 ms"', rate="4 Mbps") as found:
        yield found


def flow(source_port: int, target_port: int) -> str:
    """From host0 to host1."""
    head = "in_port(1),eth(src=00:00:00:00:00:01,dst=00:00:00:00:00:02),eth_type(0x0800)"
    return (
        f"{head},ipv4(src=10.1.0.1,dst=10.1.1.1,proto=17,tos=0,ttl=64,frag=no),udp(src={source_port},dst={target_port})"
    )


def test_shares_are_measured(fabric: DummyFabric) -> None:
    stream = random.Random(1)

    def anew(_: int) -> str:
        return flow(stream.randrange(1024, 65536), 80)

    def loaded(found: Snapshot) -> bool:
        return any((rate or 0.0) > 0 for link in found.links for rate in link.load_bps)

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            async with sending(fabric.open_vswitch, "leaf0-host0", anew, 500, 1000):
                found = await running.until(lambda one: towards(one).measured_bytes >= 100_000)
                await running.until(loaded)
            shares = [member.measured_share or 0.0 for member in towards(found).members]
            assert sum(shares) == pytest.approx(1)
            # At least 100 flows of one packet: six standard deviations of a fair coin.
            assert shares[0] == pytest.approx(0.5, abs=6 * 0.5 / 100**0.5)

    asyncio.run(follow())


def towards(found: Snapshot) -> GroupState:
    """The group of leaf0."""
    (group,) = [group for group in found.groups if (group.switch, group.leaf) == ("leaf0", "leaf1")]
    return group


def test_weights_give_way_to_foreign_load(fabric: DummyFabric) -> None:
    rule = f"priority=40000,udp,tp_dst={FOREIGN_PORT},actions=output:leaf0-spine1"
    fabric.open_vswitch.ofctl("add-flow", "leaf0", rule, options=["--names"])

    async def follow() -> None:
        async with Running(fabric.file('weights = "load"\nload = { threshold = 0.02 }')) as running:
            found = await running.converged()
            assert members(found, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}

            def shifted(weights: dict[str, int]) -> bool:
                return weights["spine0"] > 1.2 * weights["spine1"]

            # 2.4 of the 4 Mbit/s of the link.
            async with sending(fabric.open_vswitch, "leaf0-host0", lambda _: flow(7, FOREIGN_PORT), 300, 1000):
                await running.until(lambda one: shifted(members(one, "leaf0", "leaf1")) and one.converged)
                (group,) = await fabric.groups("leaf0")
                by_path = {bucket.bucket_id: bucket.weight for bucket in group.buckets}
                assert by_path[0] > by_path[1]
                # The way back is not loaded.
                assert members(running.controller.snapshot(), "leaf1", "leaf0") == {"spine0": 1, "spine1": 1}
            await running.until(lambda one: not shifted(members(one, "leaf0", "leaf1")) and one.converged)

    asyncio.run(follow())
