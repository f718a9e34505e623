"""Linux kernels that route as the controller keeps them: packets, links, gateways, drift, and other kinds beside."""

from __future__ import annotations

import asyncio

from support.dummy_fabric import Running, members
from support.own_namespace import in_own_namespace
from support.routed_fabric import routed_fabric

BOTH = {"leaf0-spine0": 1, "leaf0-spine1": 1}


@in_own_namespace
def test_packets_are_forwarded_by_weights_in_both_versions() -> None:
    with routed_fabric() as fabric:

        async def follow() -> None:
            async with Running(fabric.file()) as running:
                snapshot = await running.converged()
                assert members(snapshot, "leaf0", "leaf1") == {"spine0": 1, "spine1": 1}
                for prefix in ("10.1.1.0/24", "fd00:1:1::/64"):
                    assert fabric.split("leaf0", prefix) == BOTH
                for version in (4, 6):
                    before = fabric.sent("leaf0")
                    assert await asyncio.to_thread(fabric.arrived, 200, version=version) == 200
                    after = fabric.sent("leaf0")
                    for uplink in BOTH:
                        assert 60 < after[uplink] - before[uplink] < 145

        asyncio.run(follow())
