"""Wino's slices in a real Open vSwitch: where a label leads, what meters drop, and what a change of slices loses."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest

from anabranch.deploy.openflow.action import Output
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.match import IPV4, Match
from anabranch.deploy.openflow.tables import Flow, Tables
from anabranch.deploy.targets.ovs import slices
from anabranch.deploy.targets.ovs.change import TablesChange
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from anabranch.deploy.targets.ovs.ownership import Ownership
from anabranch.deploy.targets.ovs.split import Split, render
from anabranch.deploy.targets.plan.slices import Cut, Pair
from support.dummy_switch import BRIDGE, PATIENCE_S, connected, dummy_switch, empty, ofctl, run_strictly
from support.dummy_traffic import receive

M = 1_000_000
TERRITORY = Ownership(owner=3)
HOST_PORT = 4
GROUP_PORTS = (1, 2, 3)


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


def pair(residual: Sequence[int], cut: Cut | None = None, known: int = 0) -> Pair:
    """From the leaf that the bridge is; its port to spine i is i + 1."""
    found = (cut or Cut()).slices([(rate * M, False) for rate in residual])
    assert found is not None
    paths = tuple((("leaf0", 1 + spine), (f"spine{spine}", 9)) for spine in range(len(residual)))
    return Pair("leaf0", "leaf1", ("10.1.0.0/24",), ("10.2.0.0/24",), paths, found, known)


def leaf(residual: Sequence[int], *pairs: Pair, meters: bool = True) -> Tables:
    """All that the leaf holds: the group towards the other leaf by capacity, and the slices."""
    split = Split(1, tuple(residual), GROUP_PORTS[: len(residual)], "hash-gravity", 7)
    rendered = render(split, TERRITORY)
    match = Match.of(eth_type=IPV4, ip_dst="10.2.0.0/24")
    rule = Flow(0, 0x4000 + 24, match, rendered.actions, rendered.goto, TERRITORY.cookie)
    sliced = slices.tables(pairs, TERRITORY, meters=meters).get("leaf0", Tables())
    return Tables(rendered.flows | {rule} | sliced.flows, rendered.groups | sliced.groups, sliced.meters)


def way(switch: OpenVSwitch, label: int, sport: int = 5000) -> int:
    """The port that a packet with this label leaves by, as the switch itself says; 0 if it is dropped."""
    header = f"in_port={HOST_PORT},tcp,nw_src=10.1.0.1,nw_dst=10.2.0.7,nw_tos={label << 2},tcp_src={sport},tcp_dst=80"
    said = switch.appctl("ofproto/trace", BRIDGE, header)
    actions = re.search(r"^Datapath actions: (.*)$", said, re.MULTILINE)
    assert actions is not None, said
    found = re.search(r"(?:^|,)(\d+)$", actions[1])
    # The dummy datapath numbers ports in the order in which they were added, as the bridge does.
    return int(found[1]) if found else 0


async def hold(connection: Connection, before: Tables, wanted: Tables) -> Tables:
    await connection.commit(TablesChange.between(before, wanted).mods)
    flows, groups, meters = await connection.flows(), await connection.groups(), await connection.meters()
    assert TERRITORY.own(flows, groups, meters) == wanted
    return wanted


async def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def meters(switch: OpenVSwitch) -> dict[int, tuple[int, int]]:
    """Packets that came and that were dropped, by meter."""
    pattern = r"meter:(\d+) .*?packet_in_count:(\d+).*?\n0: packet_count:(\d+)"
    found = re.findall(pattern, ofctl(switch, "meter-stats"), re.DOTALL)
    return {int(number): (int(came), int(dropped)) for number, came, dropped in found}


def test_each_label_leads_to_its_path_and_all_others_to_the_group(switch: OpenVSwitch) -> None:
    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            await hold(connection, Tables(), leaf([600, 200, 200], pair([600, 200, 200])))
            assert [way(switch, label) for label in (1, 2, 3, 4, 5)] == [1, 2, 3, 1, 1]
            # No label, and labels of no slice: none is lost, and connections spread over all paths by weight.
            for label in (0, 6, 63):
                ways = Counter(way(switch, label, sport) for sport in range(5000, 5150))
                assert set(ways) == {1, 2, 3}
                assert ways[1] > 60

    run_strictly(work)


def test_a_slice_has_a_meter_of_its_own(switch: OpenVSwitch) -> None:
    packets = 60

    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            cut = Cut(slice_min_bps=M, slice_max_bps=M)
            wanted = leaf([3, 1, 1], pair([3, 1, 1], cut))
            await hold(connection, Tables(), wanted)
            frame = f"in_port({HOST_PORT}),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800)"
            ip = "ipv4(src=10.1.0.1,dst=10.2.0.7,proto=17,tos={tos:#x},ttl=64,frag=no),udp(src=5000,dst=9)"
            for label in (1, 2):
                # All at once: at 1 Mbit/s a frame passes every 12 ms.
                flows = [f"{frame},{ip.format(tos=label << 2)}"] * (packets if label == 1 else 1)
                receive(switch, f"p{HOST_PORT}", flows, 1514)
            first = TERRITORY.meter_id(0)
            await until(lambda: sum(came for came, _ in meters(switch).values()) >= packets + 1)
            rows = meters(switch)
            came, dropped = rows[first]
            assert came == packets
            # Two frames fit the bucket.
            assert 0 < dropped <= packets - 2
            assert rows[first + 1] == (1, 0)
            assert [rows[first + number] for number in (2, 3, 4)] == [(0, 0)] * 3
            # What a rule counts includes what its meter dropped; datapath flows hand their counts up now and then.
            switch.appctl("revalidator/wait")
            counted = await connection.flow_counters(TERRITORY.cookie | slices.COOKIE, slices.COOKIE_OF_SLICES_MASK)
            assert sorted(counter.packets for counter in counted) == [0, 0, 0, 1, packets]
            assert sum(counter.packets for counter in await connection.flow_counters()) == packets + 1

    run_strictly(work)


def test_no_label_is_lost_at_any_step_of_a_change(switch: OpenVSwitch) -> None:
    """The order: the switch first, with the labels that end as aliases; then hosts; then the aliases go."""
    steps = [
        leaf([600, 200, 200], pair([600, 200, 200])),
        # Path 1 degrades: five slices become three. Hosts still use labels 4 and 5.
        leaf([200, 200, 200], pair([200, 200, 200], known=5)),
        # Hosts know; a packet that is still on its way takes the group.
        leaf([200, 200, 200], pair([200, 200, 200])),
        # Path 2 dies.
        leaf([200, 0, 200], pair([200, 0, 200], known=3)),
        leaf([200, 0, 200]),
    ]

    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            held = Tables()
            for number, step in enumerate(steps):
                held = await hold(connection, held, step)
                ways = [way(switch, label) for label in (0, 1, 2, 3, 4, 5)]
                assert 0 not in ways
                if number == 1:
                    assert ways[1:] == [1, 2, 3, 1, 2]
                if number >= 3:
                    assert 2 not in ways

    run_strictly(work)


def test_a_dead_port_hands_its_slices_on_without_anybody(switch: OpenVSwitch) -> None:
    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            await hold(connection, Tables(), leaf([600, 200, 200], pair([600, 200, 200])))
            switch.appctl("netdev-dummy/set-admin-state", "p2", "down")
            try:
                await until(lambda: way(switch, 2) != 2)
                assert [way(switch, label) for label in (1, 2, 3, 4, 5)] == [1, 3, 3, 1, 1]
            finally:
                switch.appctl("netdev-dummy/set-admin-state", "p2", "up")

    run_strictly(work)


def test_what_is_not_ours_stays(switch: OpenVSwitch) -> None:
    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            theirs = Flow(0, 0x6000, Match.of(eth_type=IPV4, ip_dst="10.2.0.9"), (Output(2),), cookie=5)
            await connection.commit(TablesChange.between(Tables(), Tables(frozenset({theirs}))).mods)
            wanted = leaf([600, 200, 200], pair([600, 200, 200]))
            await hold(connection, Tables(), wanted)
            await hold(connection, wanted, Tables())
            assert await connection.flows() == [theirs]

    run_strictly(work)


def test_spines_keep_leaves_with_the_same_label_apart(switch: OpenVSwitch) -> None:
    async def work() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            # Two links lead from the spine to leaf 1; label 1 of leaf 0 takes the one, that of leaf 2 the other.
            one = replace(pair([200, 100]), paths=((("leaf0", 7), ("spine0", 1)), (("leaf0", 8), ("spine0", 2))))
            other = replace(
                one,
                source="leaf2",
                source_prefixes=("10.3.0.0/24", "10.4.0.0/24"),
                paths=((("leaf2", 7), ("spine0", 2)), (("leaf2", 8), ("spine0", 1))),
            )
            held = slices.tables([one, other], TERRITORY)["spine0"]
            await hold(connection, Tables(), held)
            for source, ports in (("10.1.0.1", [1, 2, 1]), ("10.3.0.1", [2, 1, 2]), ("10.4.0.1", [2, 1, 2])):
                for label, port in enumerate(ports, 1):
                    header = f"in_port=3,udp,nw_src={source},nw_dst=10.2.0.1,nw_tos={label << 2}"
                    assert f"Datapath actions: {port}" in switch.appctl("ofproto/trace", BRIDGE, header)

    run_strictly(work)
