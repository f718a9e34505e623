"""Several controllers of one fabric over real Open vSwitch daemons: who changes bridges, and what a secondary does."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from anabranch import AnabranchError
from anabranch.deploy.control import controller, file
from anabranch.deploy.control.state import PRIMARY, SECONDARY, Snapshot
from anabranch.deploy.openflow.bundle import Step, encode_add, encode_control
from anabranch.deploy.openflow.commit import encode_mod
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.error import Refused
from anabranch.deploy.openflow.framing import Kind, message
from anabranch.deploy.openflow.modification import GroupMod
from anabranch.deploy.openflow.role_codec import Role
from anabranch.deploy.openflow.tables import Bucket, Group
from anabranch.deploy.targets.ovs.session.generation import RUNS, Generation
from support.command import anabranch
from support.dummy_fabric import PATIENCE_S, DummyFabric, Running, dummy_fabric

TAKEOVER = '[redundancy]\nuse = true\ntakeover = "500 ms"\n'
BRIDGES = ["leaf0", "leaf1", "spine0", "spine1"]
ANOTHER = Group(0xAB001000, "select", (Bucket(0, (), 1),))
"""A group of the controllers' that no plan has."""


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[DummyFabric]:
    with dummy_fabric(tmp_path, settings=f'[measure]\ninterval = "50 ms"\naudit = "10 min"\n{TAKEOVER}') as made:
        yield made


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plan before all switches are read, however long that takes."""
    monkeypatch.setattr(controller, "SETTLE_S", PATIENCE_S)


def changes(snapshot: Snapshot) -> int:
    return sum(switch.changes for switch in snapshot.switches)


def roles(snapshot: Snapshot) -> dict[str, str]:
    return {switch.name: switch.role for switch in snapshot.switches}


class Rival:
    """Another controller by hand, which is the primary of bridges and lives, until it is silent."""

    def __init__(self, fabric: DummyFabric, *bridges: str, yields: bool = False) -> None:
        self._fabric, self._names, self._yields = fabric, bridges, yields
        self.bridges: dict[str, Connection] = {}
        self.lost: set[str] = set()
        """Bridges that another controller has become the primary of."""

    async def __aenter__(self) -> Rival:
        for name in self._names:
            self.bridges[name] = await self._fabric.look(name)
            self.bridges[name].on_role = lambda _, __, name=name: self.lost.add(name)
        self._task = asyncio.create_task(self._live())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.silence()
        for bridge in self.bridges.values():
            bridge.close()

    async def silence(self) -> None:
        """Gives no sign of life from now on, though it is connected."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _live(self) -> None:
        while True:
            for name, bridge in self.bridges.items():
                if self._yields and name in self.lost:
                    continue
                role, number = await bridge.role(Role.UNCHANGED)
                known = Generation.of(number)
                mine = known.next_beat() if role == Role.PRIMARY else known.after(RUNS - 1)
                with suppress(Refused):
                    await bridge.role(Role.PRIMARY, mine.number)
            await asyncio.sleep(0.02)


def test_a_controller_stands_by_and_goes_on_when_the_primary_ends(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as first:
            primary = await first.converged()
            assert set(roles(primary).values()) == {PRIMARY}
            assert changes(primary) > 0
            async with Running(fabric.file()) as second:
                standby = await second.until(lambda one: one.stands_by)
                assert (changes(standby), standby.converged, standby.role) == (0, False, SECONDARY)
                fabric.link("spine1-leaf1", up=False)
                await first.until(lambda one: changes(one) > changes(primary) and one.converged)
                first.controller.stop()
                # What the first has changed is the plan of the second as well, which has seen the same link.
                after = await second.converged()
                assert (changes(after), after.role) == (0, PRIMARY)
                assert [link.up for link in after.links].count(False) == 1
                fabric.link("spine1-leaf1", up=True)
                assert changes(await second.until(lambda one: changes(one) > 0 and one.converged)) == 3

    asyncio.run(follow())


def test_two_that_start_together_agree_on_one_primary(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as one, Running(fabric.file()) as other:
            running = [one, other]

            def agreed(_: Snapshot) -> bool:
                seen = [each.controller.snapshot() for each in running]
                return sorted(each.role for each in seen) == [PRIMARY, SECONDARY] and any(e.converged for e in seen)

            await one.until(agreed)
            seen = [each.controller.snapshot() for each in running]
            (primary,) = [snapshot for snapshot in seen if snapshot.role == PRIMARY]
            # Two of one fabric make the same plan, so none undoes the other at any switch.
            assert sum(map(changes, seen)) == sum(switch.flows + switch.groups for switch in primary.switches)

    asyncio.run(follow())


def test_a_primary_that_has_lost_its_role_changes_nothing_until_the_other_is_silent(fabric: DummyFabric) -> None:
    async def follow() -> None:
        reported: list[tuple[str, str | None]] = []
        async with Running(fabric.file()) as running:
            await running.converged()
            events = running.controller.events
            events.listeners.append(lambda kind, switch, _: reported.append((kind, switch)))
            async with Rival(fabric, *BRIDGES) as rival:
                lost = await running.until(lambda one: one.role == SECONDARY)
                assert not lost.converged
                assert [("secondary", name) in reported for name in BRIDGES] == [True] * 4
                # The rival changes what the controller had planned, and the fabric changes too.
                await rival.bridges["leaf0"].commit([GroupMod("add", ANOTHER)])
                fabric.link("spine1-leaf1", up=False)
                planned = await running.until(lambda one: any(not link.up for link in one.links) and not one.unplanned)
                measured = running.controller.network.measurements
                await running.until(lambda _: running.controller.network.measurements > measured + 10)
                after = running.controller.snapshot()
                assert (after.role, changes(after), after.plans) == (SECONDARY, changes(lost), planned.plans)
                assert ANOTHER.group_id in [group.group_id for group in await fabric.groups("leaf0")]
                await rival.silence()
                again = await running.converged()
                assert again.role == PRIMARY
                assert changes(again) == changes(lost) + 4
                assert ANOTHER.group_id not in [group.group_id for group in await fabric.groups("leaf0")]

    asyncio.run(follow())


def test_the_bridge_refuses_what_a_primary_of_before_had_under_way(fabric: DummyFabric) -> None:
    """A change of a controller that was stopped in the middle of a bundle, and goes on when another is the primary."""

    async def cut() -> None:
        first, second = await fabric.look("leaf0"), await fabric.look("leaf0")
        await first.role(Role.PRIMARY, 1)
        channel = first._channel
        await channel.request(Kind.BUNDLE_CONTROL, encode_control(1, Step.OPEN), Kind.BUNDLE_CONTROL, "open")
        with channel.batch(1) as batch:
            kind, body = encode_mod(GroupMod("add", ANOTHER))
            await channel.write([encode_add(1, batch.xids.start, message(kind, batch.xids.start, body))])
            await channel.barrier()
            assert not batch.refusals
        await second.role(Role.PRIMARY, 2)
        with pytest.raises(Refused, match="IS_SLAVE"):
            await channel.request(Kind.BUNDLE_CONTROL, encode_control(1, Step.COMMIT), Kind.BUNDLE_CONTROL, "commit")
        assert await second.groups() == []
        first.close()
        second.close()

    asyncio.run(cut())


def test_a_fabric_has_one_primary_again_after_a_bridge_was_out_of_its_reach(fabric: DummyFabric) -> None:
    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            async with Rival(fabric, "spine0", yields=True) as rival:
                await running.until(lambda one: roles(one)["spine0"] == SECONDARY or rival.lost == {"spine0"})
                # It has three of four bridges, so it takes the fourth back from a rival that lives.
                await running.until(lambda _: rival.lost == {"spine0"})
                assert (await running.converged()).role == PRIMARY

    asyncio.run(follow())


def test_one_change_by_hand_needs_no_role_and_one_of_a_secondary_is_not_made(
    fabric: DummyFabric, tmp_path: Path
) -> None:
    path = tmp_path / "fabric.toml"
    path.write_text(fabric.text())

    async def follow() -> None:
        async with Running(fabric.file()) as running:
            await running.converged()
            before = await fabric.groups("leaf0")
            once = await asyncio.to_thread(anabranch, "control", str(path), "--once", "--timeout", "2")
            assert once.returncode == 1
            assert "leaf0: another controller is its primary; nothing was changed" in once.stdout
            dry = await asyncio.to_thread(anabranch, "control", str(path), "--dry-run", "--timeout", f"{PATIENCE_S}")
            assert dry.returncode == 0
            assert (await running.converged()).role == PRIMARY
            assert await fabric.groups("leaf0") == before

    asyncio.run(follow())
    assert anabranch("control", str(path), "--once", "--timeout", f"{PATIENCE_S}").returncode == 0


def test_a_fabric_with_switches_that_anybody_may_change_has_one_controller(fabric: DummyFabric) -> None:
    addresses = f'openflow = "{fabric.open_vswitch.openflow("leaf0")}"\novsdb = "{fabric.open_vswitch.database}"'
    text = fabric.text().replace(addresses, 'datapath = "table"\nfolder = "tables"')
    with pytest.raises(AnabranchError, match=r"fabric.toml: redundancy.use: true: leaf0 is a table in a file"):
        file.parse(text, "fabric.toml")
    example = (Path(__file__).parents[3] / "examples" / "remote-kernels.toml").read_text()
    example = re.sub(r"\[tls\](\n.+)+", "", example).replace("ssl:10.255.0.", "tcp:127.0.0.")
    with pytest.raises(AnabranchError, match=r"redundancy.use: true: leaf0 is behind an agent"):
        file.parse(f"{example}\n[redundancy]\nuse = true\n", "fabric.toml")
