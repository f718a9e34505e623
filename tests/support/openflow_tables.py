"""Tables that Open vSwitch takes, for hypothesis."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from anabranch.deploy.openflow.action import (
    ANY,
    CONTROLLER,
    IN_PORT,
    LOCAL,
    Action,
    Metered,
    Multipath,
    Output,
    SetField,
    ToGroup,
)
from anabranch.deploy.openflow.match import ARP, FIELDS, IPV4, IPV6, Match
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

PORTS = (1, 2, 3, 4)
REGISTERS = [name for name in FIELDS if name.startswith("reg")]
HASHES = ["symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "symmetric_l3", "eth_src", "nw_src", "nw_dst"]
_LAYER_4 = {"tcp": 6, "udp": 17, "sctp": 132}


def value(name: str) -> st.SearchStrategy[int]:
    return st.integers(0, FIELDS[name].ones)


def maybe_masked(name: str) -> st.SearchStrategy[int | tuple[int, int]]:
    ones = FIELDS[name].ones
    masks = value(name)
    if name.startswith("ipv6"):
        # The switch takes any mask, but `ovs-ofctl` does not read all those that it writes.
        masks = st.integers(0, 128).map(lambda length: ones & ~(ones >> length))
    return st.one_of(value(name), st.tuples(value(name), masks))


@st.composite
def matches(draw: st.DrawFn) -> Match:
    """With what each field presupposes."""
    fields: dict[str, int | tuple[int, int] | str] = {}

    def perhaps(names: Sequence[str]) -> None:
        for name in draw(st.lists(st.sampled_from(names), unique=True, max_size=3)):
            fields[name] = draw(maybe_masked(name) if FIELDS[name].maskable else value(name))

    perhaps(["eth_src", "eth_dst", *REGISTERS])
    if draw(st.booleans()):
        fields["in_port"] = draw(st.sampled_from(PORTS))
    if draw(st.booleans()):
        fields["vlan_vid"] = draw(st.one_of(st.just(0), st.just((0x1000, 0x1000)), st.integers(0x1000, 0x1FFF)))
    family = draw(st.sampled_from([None, IPV4, IPV6, ARP]))
    if family is None:
        return Match.from_mapping(fields)
    fields["eth_type"] = family
    if family == ARP:
        perhaps(["arp_tpa"])
        return Match.from_mapping(fields)
    perhaps(["ip_src", "ip_dst"] if family == IPV4 else ["ipv6_src", "ipv6_dst"])
    perhaps(["ip_dscp"])
    layer_4 = draw(st.sampled_from([None, *_LAYER_4]))
    if layer_4 is not None:
        fields["ip_proto"] = _LAYER_4[layer_4]
        perhaps([f"{layer_4}_src", f"{layer_4}_dst"])
    return Match.from_mapping(fields)


def outputs() -> st.SearchStrategy[Action]:
    return st.sampled_from([*PORTS, IN_PORT, CONTROLLER, LOCAL]).map(Output)


def set_fields() -> st.SearchStrategy[Action]:
    def one(name: str) -> st.SearchStrategy[Action]:
        return value(name).map(lambda number: SetField(name, number))

    return st.sampled_from([*REGISTERS, "eth_src", "eth_dst"]).flatmap(one)


def multipaths() -> st.SearchStrategy[Action]:
    slots = st.integers(1, 1 << 16)
    return st.builds(Multipath, st.sampled_from(HASHES), st.integers(0, 0xFFFF), slots, st.sampled_from(REGISTERS))


def action_lists(*more: st.SearchStrategy[Action]) -> st.SearchStrategy[tuple[Action, ...]]:
    return st.lists(st.one_of(outputs(), set_fields(), multipaths(), *more), max_size=4).map(tuple)


@st.composite
def groups(draw: st.DrawFn, group_id: int) -> Group:
    kind = draw(st.sampled_from([SELECT, FAST_FAILOVER, ALL, INDIRECT]))
    numbers = draw(
        st.lists(
            st.integers(0, 0xFFFFFEFF),
            unique=True,
            min_size=int(kind == INDIRECT),
            max_size=1 if kind == INDIRECT else 5,
        )
    )
    buckets = []
    for number in numbers:
        weight = draw(st.integers(0, 0xFFFF)) if kind == SELECT else 0
        watch = draw(st.sampled_from(PORTS if kind == FAST_FAILOVER else (*PORTS, ANY)))
        if kind in (ALL, INDIRECT):
            watch = ANY
        buckets.append(Bucket(number, draw(action_lists()), weight, watch))
    selection = None
    if kind == SELECT and draw(st.booleans()):
        parameter = draw(st.integers(0, (1 << 64) - 1))
        fields = st.lists(
            st.sampled_from(["ip_src", "ip_dst", "ip_proto", "tcp_src", "tcp_dst", "udp_src", "ipv6_dst"])
        )
        selection = draw(
            st.one_of(
                fields.map(lambda names: Selection("hash", parameter, tuple(names))),
                st.just(Selection("dp_hash", parameter)),
            )
        )
    return Group(group_id, kind, tuple(buckets), selection)


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """Rules that use the groups and meters beside them."""
    group_ids = draw(st.lists(st.integers(0, 0xFFFFFF00), unique=True, max_size=4))
    meter_ids = draw(st.lists(st.integers(1, 1 << 18), unique=True, max_size=4))
    held = [draw(groups(group_id)) for group_id in group_ids]
    rates = st.integers(1, 0xFFFFFFFF)
    meters = [Meter(meter_id, draw(rates), draw(rates)) for meter_id in meter_ids]
    more: list[st.SearchStrategy[Action]] = []
    if group_ids:
        more.append(st.sampled_from(group_ids).map(ToGroup))
    if meter_ids:
        more.append(st.sampled_from(meter_ids).map(Metered))
    flows = {}
    for match in draw(st.lists(matches(), max_size=8)):
        table = draw(st.integers(0, 253))
        goto = draw(st.one_of(st.none(), st.integers(table + 1, 253))) if table < 253 else None
        priority, cookie = draw(st.integers(0, 0xFFFF)), draw(st.integers(0, (1 << 64) - 2))
        flow = Flow(table, priority, match, draw(action_lists(*more)), goto, cookie)
        flows[flow.key] = flow
    return Tables(frozenset(flows.values()), frozenset(held), frozenset(meters))
