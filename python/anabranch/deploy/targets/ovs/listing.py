"""The tables of a bridge as text, in the words of `ovs-ofctl`."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from anabranch.deploy.openflow.action import (
    ANY,
    CONTROLLER,
    IN_PORT,
    LOCAL,
    Action,
    Foreign,
    Metered,
    Multipath,
    Output,
    SetField,
    ToGroup,
)
from anabranch.deploy.openflow.match import ARP, FIELDS, IPV4, IPV6, Match
from anabranch.deploy.openflow.reference import written_actions
from anabranch.deploy.openflow.tables import Bucket, Flow, Group, Meter

PROTOCOLS = {ARP: "arp", IPV4: "ip", IPV6: "ipv6"}
RESERVED = {IN_PORT: "in_port", CONTROLLER: "controller", LOCAL: "local"}


def flow(one: Flow, names: Mapping[int, str]) -> str:
    """`rule table=0 priority=1000 ip,ip_dst=10.0.2.0/24 -> group 0xab000000`; `names` are those of ports."""
    steps = [action(each, names) for each in one.actions]
    if written := written_actions(one):
        steps.append(f"write_actions({', '.join(action(each, names) for each in written)})")
    if one.goto is not None:
        steps.append(f"table {one.goto}")
    return f"rule table={one.table} priority={one.priority} {match(one.match, names)} -> {', '.join(steps) or 'drop'}"


def group(one: Group, names: Mapping[int, str]) -> str:
    """`group 0xab000000 select hash seed=7: 0:p1 weight=65535, 1:p2 weight=56173`."""
    text = f"group 0x{one.group_id:x} {one.kind}"
    if one.selection is not None:
        text += f" {one.selection.method} seed={one.selection.parameter}"
    return f"{text}: {', '.join(_bucket(bucket, names) for bucket in one.buckets) or 'empty'}"


def meter(one: Meter) -> str:
    """`meter 65536 1000 kb/s, burst 20 kb`."""
    return f"meter {one.meter_id} {one.rate_kbps} kb/s, burst {one.burst_kb} kb"


def match(one: Match, names: Mapping[int, str]) -> str:
    """`tcp_dst=80,ip_dst=10.0.2.0/24`, or `any`."""
    return ",".join(_field(name, value, mask, names) for name, value, mask in one.fields) or "any"


def action(one: Action, names: Mapping[int, str]) -> str:
    """An action on a packet, as text."""
    match one:
        case Output(port=number):
            return port(number, names)
        case ToGroup(group_id=group_id):
            return f"group 0x{group_id:x}"
        case Metered(meter_id=meter_id):
            return f"meter {meter_id}"
        case SetField(field=field, value=value):
            return f"{field}={value}"
        case Multipath(algorithm=algorithm, basis=basis, slots=slots, register=register):
            return f"{register}=multipath({algorithm}, seed={basis}, {slots} slots)"
        case Foreign(data=data):
            return f"0x{data.hex()}"


def port(number: int, names: Mapping[int, str]) -> str:
    """A port's name, or its number where it has none."""
    return names.get(number) or RESERVED.get(number) or f"port {number}"


def _bucket(one: Bucket, names: Mapping[int, str]) -> str:
    text = f"{one.bucket_id}:{'+'.join(action(each, names) for each in one.actions) or 'drop'}"
    if one.weight:
        text += f" weight={one.weight}"
    if one.watch_port == ANY and one.watch_group == ANY:
        text += " unwatched"
    return text


def _field(name: str, value: int, mask: int | None, names: Mapping[int, str]) -> str:
    if name == "in_port":
        return f"in_port={port(value, names)}"
    if name == "eth_type" and value in PROTOCOLS:
        return PROTOCOLS[value]
    bits = FIELDS[name].bits
    if name.startswith(("ip_src", "ip_dst", "ipv6_", "arp_tpa")):
        address = ipaddress.IPv6Address(value) if bits == 128 else ipaddress.IPv4Address(value)
        if mask is None:
            return f"{name}={address}"
        length = mask.bit_count()
        if mask == (1 << bits) - (1 << bits - length):
            return f"{name}={address}/{length}"
    if bits == 48:
        text = ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
        return f"{name}={text}" if mask is None else f"{name}={text}/0x{mask:x}"
    return f"{name}={value}" if mask is None else f"{name}=0x{value:x}/0x{mask:x}"
