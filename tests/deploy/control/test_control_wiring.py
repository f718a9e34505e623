"""Cables of real switches as LLDP frames find them: as written, swapped in the file and by hand, laid anew, joined."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from anabranch.deploy.control.pages.health import reasons
from anabranch.deploy.control.state import Snapshot
from support.cabled_fabric import CABLES, CabledFabric, cabled_fabric
from support.dummy_fabric import Running
from support.own_datapaths import with_own_datapaths

SWAPPED = CABLES | {"a0": "q0", "a1": "p0"}


def texts(snapshot: Snapshot) -> set[str]:
    return {one["reason"] for one in reasons(snapshot)}


def verdicts(snapshot: Snapshot) -> dict[str, str]:
    return {cable.interface: cable.verdict for cable in snapshot.cables}


@pytest.mark.parametrize(("leaves", "spines"), [("ovs", "ovs"), ("ebpf", "ebpf"), ("ebpf", "ovs")])
@with_own_datapaths
def test_swapped_cables_are_named_until_they_are_as_written(tmp_path: Path, leaves: str, spines: str) -> None:
    named = {
        "leaf0 port a0 is wired to spine1 port q0; the file says spine0 port p0",
        "leaf0 port a1 is wired to spine0 port p0; the file says spine1 port q0",
        "spine0 port p0 is wired to leaf0 port a1; the file says leaf0 port a0",
        "spine1 port q0 is wired to leaf0 port a0; the file says leaf0 port a1",
    }

    async def run(fabric: CabledFabric) -> None:
        async with Running(fabric.file()) as running:
            snapshot = await running.converged()
            assert set(verdicts(snapshot).values()) == {"right"}
            fabric.panel.patch(SWAPPED)
            snapshot = await running.until(lambda found: texts(found) == named)
            assert not snapshot.converged
            assert snapshot.events["miswired"] >= 4
            fabric.panel.patch(CABLES)
            await running.converged()
        # The other end of the mistake: cables as they were, and a file that has them swapped.
        async with Running(fabric.file(swapped=True)) as running:
            snapshot = await running.until(lambda found: len(texts(found)) == 4)
            assert "leaf0 port a0 is wired to spine0 port p0; the file says spine1 port q0" in texts(snapshot)

    with cabled_fabric(tmp_path, leaves, spines) as fabric:
        asyncio.run(run(fabric))
