"""Slots of the controller's bridges over reboots: `state` of a switch keeps them in a file, by the names of ports."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.deploy.control import controller, file
from anabranch.deploy.control.fabric import FabricFile
from anabranch.deploy.control.state import Snapshot
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.tables import Tables
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ovs import slots
from anabranch.deploy.targets.ovs.daemons import SWITCH
from anabranch.deploy.targets.ovs.kept import FORM
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.session.bridge import BridgeSession
from anabranch.deploy.targets.ovs.session.switch_kind import KIND
from support.dummy_fabric import DummyFabric, Running, dummy_fabric
from support.history_of_weights import RATES, weighs, with_state


@contextmanager
def booted() -> Iterator[DummyFabric]:
    """Bridges without a rule; databases that know nothing of before."""
    # Not pytest's folder: a socket's path has 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ovs") as folder, dummy_fabric(Path(folder)) as fabric:
        yield fabric


def keeping(fabric: DummyFabric, state: Path) -> FabricFile:
    """The fabric's file, in which leaf0 keeps its slots."""
    return with_state(fabric.text('weights = "capacity"\nrecipe = "multipath"'), state)


def rate(fabric: DummyFabric, rate_bps: int) -> None:
    fabric.open_vswitch.vsctl("set", "interface", "leaf1-spine1", f"external_ids:anabranch-rate-bps={rate_bps}")


def kept(state: Path) -> dict[int, str]:
    """The same as `rows`, as the file has it."""
    split = state_file.read(str(state), FORM)["leaf1"] if state.exists() else None
    owners = () if split is None else (split.ports[owner] for owner in split.owners)
    return {slot: str(port).removeprefix("leaf0-") for slot, port in enumerate(owners)}


async def rows(fabric: DummyFabric) -> dict[int, str]:
    """Spine that each slot of leaf0 towards leaf1 leads to, as the bridge says it."""
    connection = await fabric.look("leaf0")
    try:
        ports = {port.number: port.name for port in await connection.described_ports()}
        tables = Tables(frozenset(await connection.flows()), frozenset(await connection.groups()))
    finally:
        connection.close()
    owners = slots.owners(tables, Ownership(0).inner_tables[0])[Ownership(0).group_id(1)]
    return {slot: ports[owner].removeprefix("leaf0-") for slot, (owner, _) in owners.items()}


async def planned(fabric: DummyFabric, state: Path, *rates: int) -> dict[int, str]:
    """Slots once a controller has followed these rates of a link."""
    rate(fabric, rates[0])
    async with Running(keeping(fabric, state)) as running:
        await running.converged()
        for rate_bps in rates:
            rate(fabric, rate_bps)
            await running.until(weighs(rate_bps))
        now = await rows(fabric)
        await running.until(lambda _: kept(state) == now)
        return now


def test_a_bridge_that_is_made_anew_goes_on_from_the_file(tmp_path: Path) -> None:
    state = tmp_path / "leaf0.state"
    with booted() as fabric:
        before = asyncio.run(planned(fabric, state, *RATES))
        assert len(before) == 256
        # One that stands already is written when the controller begins, and goes before the file.
        written = state.read_bytes()
        state.unlink()
        assert asyncio.run(planned(fabric, state, RATES[-1])) == before
        assert state.read_bytes() == written
    with booted() as fabric:
        assert asyncio.run(planned(fabric, state, RATES[-1])) == before
    with booted() as fabric:
        state.unlink()
        assert asyncio.run(planned(fabric, state, RATES[-1])) != before


def plan_while_reading(patch: pytest.MonkeyPatch, running: Running) -> None:
    """Has a plan made when a bridge's ports are known and its tables are not yet, and none soon after."""
    read = BridgeSession._read

    async def planned(session: BridgeSession, connection: Connection) -> Tables:
        tables = await read(session, connection)
        running.controller._plan()
        return tables

    patch.setattr(BridgeSession, "_read", planned)
    patch.setattr(controller, "REST_S", 0.3)


def test_a_bridge_that_is_booted_while_the_controller_runs_goes_on_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "leaf0.state"

    async def follow(fabric: DummyFabric) -> None:
        rate(fabric, RATES[0])
        async with Running(keeping(fabric, state)) as running:
            await running.converged()
            for rate_bps in RATES:
                rate(fabric, rate_bps)
                await running.until(weighs(rate_bps))
            before = await rows(fabric)
            await running.until(lambda _: kept(state) == before)
            ovs = fabric.open_vswitch
            ports = [f"leaf0-{neighbour}" for neighbour in ("host0", "spine0", "spine1")]
            numbers = [ovs.vsctl("get", "interface", port, "ofport") for port in ports]
            await asyncio.to_thread(ovs.kill, SWITCH)
            await running.until(lambda found: not any(one.connected for one in found.switches))
            # A boot that finds its ports in another order.
            requests = [f"ofport_request={number + 11}" for number in range(len(ports))]
            for port, request in zip(ports, reversed(requests), strict=True):
                ovs.vsctl("--no-wait", "set", "interface", port, request)
            plan_while_reading(monkeypatch, running)
            await asyncio.to_thread(ovs.start_switch)
            await running.until(lambda found: found.converged and all(one.connects >= 2 for one in found.switches))
            assert [ovs.vsctl("get", "interface", port, "ofport") for port in ports] != numbers
            assert await rows(fabric) == before

    with booted() as fabric:
        asyncio.run(follow(fabric))


def test_a_file_that_cannot_be_stops_that_switch_alone(tmp_path: Path) -> None:
    state = tmp_path / "kept" / "leaf0.state"

    def error(snapshot: Snapshot) -> str:
        """The error that holds leaf0 back, once the others are served."""
        (leaf,) = [one for one in snapshot.switches if one.name == "leaf0"]
        served = all(one.connected for one in snapshot.switches if one is not leaf)
        return leaf.last_error if served else ""

    async def run(fabric: DummyFabric) -> None:
        async with Running(keeping(fabric, state)) as running:
            snapshot = await running.until(lambda found: "there is no directory" in error(found))
            assert not snapshot.converged
            state.parent.mkdir()
            state.write_text("{}")
            await running.until(lambda found: "not the state of a bridge" in error(found))
            state.unlink()
            await running.converged()
            # What can no longer be written is said, and the bridge stays connected.
            await running.until(lambda _: state.exists())
            state.unlink()
            state.mkdir()
            rate(fabric, RATES[0])
            found = await running.until(lambda found: "is a directory" in error(found))
            # The bridge itself has the plan.
            assert all(one.connected for one in found.switches)
            state.rmdir()
            found = await running.until(lambda found: found.converged and not error(found))
            assert kept(state) == await rows(fabric)
            assert found.events["not-kept"] == 1

    with booted() as fabric:
        fabric.settings = '[measure]\naudit = "1 s"'
        asyncio.run(run(fabric))


def test_a_service_may_write_where_slots_are_kept() -> None:
    fabric = DummyFabric(Path())
    without, written = fabric.file(), keeping(fabric, Path("/var/lib/slots/leaf0.state"))
    assert KIND.needs(written).writes - KIND.needs(without).writes == {"/var/lib/slots"}


def test_two_switches_have_no_file_in_common() -> None:
    text = re.sub(r"\[switch\.(leaf\d)\]", r'[switch.\1]\nstate = "one.state"', DummyFabric(Path()).text())
    with pytest.raises(AnabranchError, match=r"switch.leaf1.state: one.state: leaf0 has it; each has its own"):
        file.parse(text, "fabric.toml")
