"""Byte for byte what `ovs-ofctl` sends for the same tables and questions, and what it makes of ours."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from anabranch.deploy.openflow.action import Action, Metered, Multipath, Output, SetField, ToGroup
from anabranch.deploy.openflow.commit import encode_mod
from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.error import SwitchError
from anabranch.deploy.openflow.framing import VERSION, Kind, message
from anabranch.deploy.openflow.handshake import ASYNCHRONOUS, CONFIGURATION, HELLO
from anabranch.deploy.openflow.match import Match
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod, Mod
from anabranch.deploy.openflow.multipart import What
from anabranch.deploy.openflow.tables import (
    ALL,
    FAST_FAILOVER,
    INDIRECT,
    SELECT,
    Bucket,
    Flow,
    Group,
    Meter,
    Selection,
    Tables,
)
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.dummy_switch import BRIDGE, connected, dummy_switch, empty, ofctl, run_strictly
from support.openflow_recorder import Heard, Recorder
from support.openflow_tables import tables


@pytest.fixture(scope="module")
def switch() -> Iterator[OpenVSwitch]:
    with dummy_switch() as started:
        yield started


@pytest.fixture(scope="module")
def recorder(switch: OpenVSwitch) -> Iterator[Recorder]:
    with Recorder(switch.folder / "tap", switch.openflow(BRIDGE)) as recording:
        yield recording


def through(recorder: Recorder, command: str, *arguments: str, options: tuple[str, ...] = ()) -> None:
    run = ["ovs-ofctl", "-O", "OpenFlow15", *options, command, recorder.address, *arguments]
    answer = subprocess.run(run, check=False, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr


def encoded(mod: Mod) -> Heard:
    return Heard(*encode_mod(mod))


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(wanted=tables())
def test_ovs_ofctl_sends_the_same_for_what_it_reads(switch: OpenVSwitch, recorder: Recorder, wanted: Tables) -> None:
    """Ours into a switch, `ovs-ofctl`'s text of that, its bytes of the text: ours again."""
    # Its reader of texts, unlike its decoder, wants one meter at most, and first.
    wanted = replace(wanted, flows=frozenset(replace(flow, actions=meter_first(flow.actions)) for flow in wanted.flows))
    text: dict[str, Path] = {what: switch.folder / what for what in ("flows", "groups")}

    async def install() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)
            meters: list[Mod] = [MeterMod("add", meter) for meter in wanted.meters]
            groups: list[Mod] = [GroupMod("add", group) for group in wanted.groups]
            flows: list[Mod] = [FlowMod("add", flow) for flow in wanted.flows]
            await connection.commit(meters + groups + flows)
            for what, file in text.items():
                lines = ofctl(switch, f"dump-{what}").splitlines()[what == "groups" :]
                file.write_text("\n".join(lines))
            await empty(connection)
            await connection.commit(meters)

    run_strictly(install)
    recorder.take()
    through(recorder, "add-groups", str(text["groups"]))
    assert set(recorder.take(Kind.GROUP_MOD)) == {encoded(GroupMod("add", group)) for group in wanted.groups}
    through(recorder, "add-flows", str(text["flows"]))
    assert set(recorder.take(Kind.FLOW_MOD)) == {encoded(FlowMod("add", flow)) for flow in wanted.flows}


def meter_first(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    meters = [action for action in actions if isinstance(action, Metered)]
    return (*meters[:1], *(action for action in actions if action not in meters))


GROUP = Group(
    5,
    SELECT,
    (
        Bucket(0, (SetField("reg0", 3), Output(1)), 1, watch_port=1),
        Bucket(7, (Output(2),), 65535, watch_port=2),
        Bucket(9, (Output(3),), 0, watch_group=6),
    ),
    Selection("hash", 0xFFFFFFFF_FFFFFFFF, ("ip_src", "ip_dst", "ip_proto", "tcp_src", "tcp_dst")),
)
BUCKETS = (
    "bucket=bucket_id=0,weight=1,watch_port=1,actions=set_field:3->reg0,output:1"
    ",bucket=bucket_id=7,weight=65535,watch_port=2,actions=2,bucket=bucket_id=9,weight=0,watch_group=6,actions=3"
)
METHOD = (
    "selection_method=hash,selection_method_param=0xffffffffffffffff,fields(ip_src,ip_dst,ip_proto,tcp_src,tcp_dst)"
)
BACKUP = Group(6, FAST_FAILOVER, (Bucket(0, (Output(4),), watch_port=4),))
RULE = Flow(
    1,
    7,
    Match.of(
        in_port=1,
        eth_type=0x0800,
        vlan_vid=0x1003,
        eth_src=1,
        eth_dst="00:00:00:00:00:02",
        ip_src="10.0.0.0/8",
        ip_dst="1.2.3.4",
        ip_dscp=8,
        ip_proto=6,
        tcp_src=80,
        tcp_dst=(0x10, 0xF0),
        reg0=5,
        reg1=(0x10, 0xF0),
        reg7=9,
    ),
    (Metered(3), SetField("ip_dscp", 10), Multipath("symmetric_l4", 7, 16, "reg1"), ToGroup(5)),
    2,
    0xABC,
)
RULE_TEXT = (
    "table=1,priority=7,in_port=1,tcp,dl_vlan=3,dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02,nw_src=10.0.0.0/8"
    ",nw_dst=1.2.3.4,ip_dscp=8,tp_src=80,tp_dst=0x10/0xf0,reg0=5,reg1=0x10/0xf0,reg7=9"
)
RULE_ACTIONS = (
    "meter:3,set_field:10->ip_dscp,multipath(symmetric_l4,7,modulo_n,16,0,NXM_NX_REG1[]),group:5,goto_table:2"
)

COMMANDS: list[tuple[Mod, tuple[str, ...], str, str]] = [
    (
        MeterMod("add", Meter(3, 1000, 100)),
        (),
        "add-meter",
        "meter=3,kbps,burst,stats,band=type=drop,rate=1000,burst_size=100",
    ),
    (
        MeterMod("modify", Meter(3, 7, 9)),
        (),
        "mod-meter",
        "meter=3,kbps,burst,stats,band=type=drop,rate=7,burst_size=9",
    ),
    (GroupMod("add", BACKUP), (), "add-group", "group_id=6,type=ff,bucket=bucket_id=0,watch_port=4,actions=4"),
    (GroupMod("add", GROUP), (), "add-group", f"group_id=5,type=select,{METHOD},{BUCKETS}"),
    (
        GroupMod("modify", Group(5, SELECT, GROUP.buckets, Selection("dp_hash", 1))),
        (),
        "mod-group",
        f"group_id=5,type=select,selection_method=dp_hash,selection_method_param=1,{BUCKETS}",
    ),
    (GroupMod("add", Group(7, ALL, ())), (), "add-group", "group_id=7,type=all"),
    (GroupMod("delete", Group(7, ALL, ())), (), "del-groups", "group_id=7"),
    (
        GroupMod("add", Group(8, INDIRECT, (Bucket(0, (Output(1),)),))),
        (),
        "add-group",
        "group_id=8,type=indirect,bucket=bucket_id=0,actions=1",
    ),
    (FlowMod("add", RULE), (), "add-flow", f"cookie=0xabc,{RULE_TEXT},actions={RULE_ACTIONS}"),
    (FlowMod("delete", RULE), ("--strict",), "del-flows", f"cookie=0xabc/-1,{RULE_TEXT}"),
    (FlowMod("add", Flow(0, 0, Match())), (), "add-flow", "priority=0,actions=drop"),
]


def test_modifications_as_ovs_ofctl_writes_them(switch: OpenVSwitch, recorder: Recorder) -> None:
    async def clear() -> None:
        async with connected(switch.openflow(BRIDGE)) as connection:
            await empty(connection)

    run_strictly(clear)
    for mod, options, command, text in COMMANDS:
        recorder.take()
        through(recorder, command, text, options=options)
        assert recorder.take(Kind.FLOW_MOD, Kind.GROUP_MOD, Kind.METER_MOD) == [encoded(mod)]


QUESTIONS: list[tuple[str, list[str], What, Callable[[Connection], Awaitable[object]]]] = [
    ("dump-flows", ["cookie=0xab/0xff"], What.FLOWS, lambda connection: connection.flows(0xAB, 0xFF)),
    ("dump-groups", [], What.GROUPS, Connection.groups),
    ("dump-meters", [], What.METERS, Connection.meters),
    ("dump-ports-desc", [], What.PORTS, Connection.described_ports),
    ("dump-ports", [], What.PORT_COUNTERS, Connection.port_counters),
    ("dump-group-stats", [], What.BUCKET_COUNTERS, Connection.bucket_counters),
    ("dump-group-stats", ["group_id=5"], What.BUCKET_COUNTERS, lambda connection: connection.bucket_counters(5)),
]


def test_questions_as_ovs_ofctl_asks_them(recorder: Recorder) -> None:
    def asked(what: What) -> list[bytes]:
        requests = [one.body for one in recorder.take(Kind.MULTIPART_REQUEST)]
        return [body for body in requests if body[:2] == what.to_bytes(2, "big")]

    async def ask() -> None:
        async with connected(recorder.address) as connection:
            recorder.take()
            for _, _, what, question in QUESTIONS:
                await question(connection)
                ours.append(asked(what))

    ours: list[list[bytes]] = []
    run_strictly(ask)
    for (command, arguments, what, _), mine in zip(QUESTIONS, ours, strict=True):
        through(recorder, command, *arguments)
        # Some commands of `ovs-ofctl` ask for the ports' names too.
        assert asked(what)[-1:] == mine


def test_bundles_as_ovs_ofctl_sends_them(switch: OpenVSwitch, recorder: Recorder) -> None:
    flow = Flow(3, 1, Match.of(in_port=1), (Output(2),), None, 1)
    group = Group(9, INDIRECT, (Bucket(0, (Output(1),)),))
    file = switch.folder / "bundle"
    file.write_text(
        "group add group_id=9,type=indirect,bucket=bucket_id=0,actions=1\n"
        "flow add table=3,priority=1,cookie=1,in_port=1,actions=2\n"
    )

    def bundle() -> list[Heard]:
        heard = recorder.take(Kind.BUNDLE_CONTROL, Kind.BUNDLE_ADD_MESSAGE)
        # Which bundle, and the inner message's number, are each side's own choice.
        return [
            Heard(kind, body[4:8] + (body[8:12] + body[16:] if kind == Kind.BUNDLE_ADD_MESSAGE else b""))
            for kind, body in heard
        ]

    async def commit() -> None:
        async with connected(recorder.address) as connection:
            await empty(connection)
            recorder.take()
            await connection.commit([GroupMod("add", group), FlowMod("add", flow)])
            ours.extend(bundle())
            await empty(connection)

    ours: list[Heard] = []
    run_strictly(commit)
    recorder.take()
    through(recorder, "bundle", str(file))
    assert bundle() == ours
    assert len(ours) == 4


def decoded(*messages: bytes) -> str:
    shown = ["ovs-ofctl", "ofp-parse", "-"]
    return subprocess.run(shown, input=b"".join(messages), check=True, capture_output=True).stdout.decode()


def test_ovs_ofctl_understands_how_a_connection_begins(switch: OpenVSwitch) -> None:
    assert switch.pid("ovs-vswitchd")
    text = decoded(
        message(Kind.HELLO, 1, HELLO),
        message(Kind.SET_CONFIG, 2, CONFIGURATION),
        message(Kind.SET_ASYNC, 3, ASYNCHRONOUS),
    )
    hello, settings_, asynchronous = re.split(r"\n(?=OFPT)", text.strip())
    assert "version bitmap: 0x06" in hello
    assert "miss_send_len=65535" in settings_
    assert set(re.findall(r"(\w+): (.*)", asynchronous)) >= {
        ("PORT_STATUS", "add delete modify"),
        ("PACKET_IN", "action"),
    }


def test_refusals_have_the_names_that_open_vswitch_knows(switch: OpenVSwitch) -> None:
    assert switch.pid("ovs-vswitchd")
    # What Open vSwitch calls otherwise than OpenFlow 1.5.1 does.
    others = {"BAD_STAT": "BAD_MULTIPART", "VENDOR_TYPE": "EXP_TYPE", "VENDOR": "EXPERIMENTER", "SUBTYPE": "EXP_TYPE"}
    codes = [(type_, code) for type_ in range(18) for code in range(24)]
    text = decoded(
        *(
            message(
                Kind.ERROR,
                1,
                type_.to_bytes(2, "big") + code.to_bytes(2, "big") + bytes([VERSION, 0, 0, 8, 0, 0, 0, 1]),
            )
            for type_, code in codes
        )
    )
    names = re.findall(r"^OFPT_ERROR.*?: (.*)$", text, re.MULTILINE)
    assert len(names) == len(codes)
    known = 0
    for (type_, code), name in zip(codes, names, strict=True):
        ours = SwitchError(type_, code, b"").name
        for theirs, standard in others.items():
            name = name.replace(theirs, standard)
        name = name.replace("IS_SECONDARY", "IS_SLAVE")
        if not ours.startswith("error"):
            assert ours == name
            known += 1
    assert known > 120
