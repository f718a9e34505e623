"""How a connection comes to its path: fields, hash, score or slot."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.errors import AnabranchError
from anabranch.split.change import split_list
from anabranch.split.request import Choice
from anabranch.splitter import Splitter, hashes
from anabranch.targets.ovs.recipes import WEIGHT_MAX, Switch
from anabranch.targets.plan.group import Group, within
from anabranch.tuples import FIVE_TUPLE, PROTOCOLS, five_tuples, flow_keys, tuple_bytes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

PORTED = {PROTOCOLS["tcp"]: "tcp", PROTOCOLS["udp"]: "udp", PROTOCOLS["sctp"]: "sctp"}
ICMP = (PROTOCOLS["icmp"], PROTOCOLS["icmpv6"])
TYPE_MAX = 255
UNTYPED = 0xFFFF
"""Value of both ports of an ICMP message whose type and code are not known: neither has more than 8 bits."""
DP_HASHES = ("ovs-l4", "ovs-sym-l4")
"""Hashes of dp_hash by the number of their algorithm in the high half of selection_method_param."""


@dataclass(frozen=True)
class Explanation:
    """One connection's way."""

    connection: str
    steps: list[tuple[str, str]]
    path: int | None
    """From 1; None where the connection as given does not tell."""
    bucket_id: int | None = None
    """Of Open vSwitch."""


def parse_tuples(texts: Iterable[str]) -> npt.NDArray[np.void]:
    """`10.0.0.1,10.0.0.2,tcp,40000,80`, `10.0.0.1,10.0.0.2,icmp,8,0`, or without ports: an array of dtype `FIVE_TUPLE`.

    An ICMP message has its type and code in place of ports, both `UNTYPED` where they are left out.

    Raises:
        AnabranchError: another number of fields, or a field that is none; the message has the tuple.

    """
    return np.concatenate([_parse(text) for text in texts], dtype=FIVE_TUPLE)


def _parse(text: str) -> npt.NDArray[np.void]:
    fields = split_list(text)
    if len(fields) not in (3, 5):
        raise AnabranchError(
            f"{text}: {len(fields)} fields; write src,dst,proto,sport,dport: 10.0.0.1,10.0.0.2,tcp,4,80"
        )
    source, destination, protocol, *ports = fields
    name = "icmpv6" if protocol.lower() == "icmp6" else protocol.lower()
    number = int(protocol) if protocol.isdecimal() else PROTOCOLS.get(name, protocol)
    for what, port in zip(("type", "code") if number in ICMP else ("port", "port"), ports, strict=False):
        most = TYPE_MAX if number in ICMP else 65535
        if not port.isdecimal() or (number in ICMP and int(port) > most):
            raise AnabranchError(f"{text}: {what} {port}: not a number; give one from 0 to {most}")
    ports = ports or [str(UNTYPED if number in ICMP else 0)] * 2
    try:
        return five_tuples(source, destination, number, int(ports[0]), int(ports[1]))
    except AnabranchError as error:
        raise AnabranchError(f"{text}: {error}") from None


def untyped(tuples: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """The connections of a trace, whose ICMP messages have zeros for type and code whatever they are: as not known."""
    marked: npt.NDArray[np.void] = tuples.copy()
    zeros = (tuples["source_port"] == 0) & (tuples["destination_port"] == 0)
    of_icmp = np.isin(tuples["protocol"], ICMP) & zeros
    marked["source_port"][of_icmp] = marked["destination_port"][of_icmp] = UNTYPED
    return marked


def _is_untyped(tuples: npt.NDArray[np.void] | np.void) -> npt.NDArray[np.bool_]:
    """Which connections are ICMP messages whose type or code is not known."""
    beyond = (tuples["source_port"] > TYPE_MAX) | (tuples["destination_port"] > TYPE_MAX)
    found: npt.NDArray[np.bool_] = np.isin(tuples["protocol"], ICMP) & beyond
    return found


def by_technique(
    tuples: npt.NDArray[np.void], group: Group, choice: Choice, hash_name: str, seed: int
) -> list[Explanation]:
    """By one of the library's techniques; one that remembers connections sees them in the order given.

    Dead paths have failed in the group of all, as `Splitter.update` has it: connections of the others stay.
    """
    splitter = Splitter(choice.name, group.weights, None, **dict(choice.parameters))
    if group.degraded:
        splitter.update(up=group.up)
    made_by = next(hash_ for hash_ in hashes() if hash_.name == hash_name)
    tuples = tuples.copy()
    hidden = _is_untyped(tuples)
    # `split` counts an ICMP message of a trace with ports 0.
    tuples["source_port"][hidden] = tuples["destination_port"][hidden] = 0
    keys = flow_keys(tuples, hash_name, seed)
    found = []
    results = made_by.results(keys)
    inputs = _core.hash_input(tuple_bytes(tuples), hash_name)
    for row, key, result, read in zip(tuples, keys, results, inputs, strict=True):
        steps = [] if read is None else [("hash input", f"{_grouped(row, read)} ({len(read)} bytes)")]
        steps.append((hash_name, f"0x{int(result):0{made_by.bits // 4}x} (seed {seed})"))
        if made_by.factor != 1:
            steps.append(("key", f"0x{int(key):08x} = {result} x {made_by.factor}"))
        steps += splitter.explain(int(key))
        path = int(splitter.pick(np.array([key]))[0])
        found.append(Explanation(connection(row), steps, path + 1))
    return found


def by_selection(
    tuples: npt.NDArray[np.void], group: Group, switch: Switch, bucket_ids: Sequence[int]
) -> list[Explanation]:
    """By Open vSwitch under `selection_method=hash`, its fields being the whole 5-tuple."""
    weights = within(group, WEIGHT_MAX, "OpenFlow")
    live = [path for path, weight in enumerate(weights) if weight and group.up[path]]
    buckets = [(bucket_ids[path], weights[path]) for path in live]
    found = []
    for row, (basis, scores, chosen) in zip(
        tuples, _core.ovs_select(tuple_bytes(tuples), buckets, switch.parameter), strict=True
    ):
        steps = [("fields", _fields(row)), ("basis", f"0x{basis:08x} (selection_method_param {switch.parameter})")]
        steps += [
            (f"score of bucket {bucket_id}", f"{score} = {value} x {weight} (path {path + 1})")
            for path, (bucket_id, weight), (value, score) in zip(live, buckets, scores, strict=True)
        ]
        found.append(Explanation(connection(row), steps, live[chosen] + 1, buckets[chosen][0]))
    return found


def by_dp_hash(
    tuples: npt.NDArray[np.void], group: Group, switch: Switch, bucket_ids: Sequence[int], default: bool
) -> list[Explanation]:
    """By Open vSwitch's userspace datapath under `selection_method=dp_hash`, or without a method (`default`).

    Algorithm L4 reads ICMP's type and code; a message whose these are not known has no path here.

    Raises:
        AnabranchError: weights that do not fit the slots, or a parameter that names no algorithm.

    """
    algorithm, basis = (1, 0) if default else divmod(switch.parameter, 2**32)
    if algorithm >= len(DP_HASHES):
        raise AnabranchError(f"param: {switch.parameter}: algorithm {algorithm} is unknown; the high half is 0 or 1")
    weights = within(group, WEIGHT_MAX, "OpenFlow")
    slots = _core.dp_hash_slots(weights, switch.max_slots, switch.slots_per_bucket)
    if slots is None:
        raise AnabranchError(
            f"weights: they do not fit {switch.max_slots} slots, and Open vSwitch scores by a hash that includes "
            "Ethernet addresses, which a 5-tuple does not tell; use --method hash, or the weights of `anabranch plan`"
        )
    splitter = Splitter("ovs-dp-hash", weights, group.up, **switch.sizing)
    keys = flow_keys(tuples, DP_HASHES[algorithm], basis)
    hidden = _is_untyped(tuples) if algorithm == 0 else np.zeros(len(tuples), bool)
    found = []
    for row, key, path, unknown in zip(tuples, keys, splitter.pick(keys), hidden, strict=True):
        if unknown:
            found.append(Explanation(connection(row), [("fields", _fields(row)), ("dp_hash", _needs_type(row))], None))
            continue
        slot = int(key) & (len(slots) - 1)
        steps = [("fields", _fields(row, udp_ports=algorithm == 0, icmp=algorithm == 0))]
        steps.append(("dp_hash", f"0x{int(key):08x} ({DP_HASHES[algorithm].removeprefix('ovs-')}, basis {basis})"))
        owner = slots[slot]
        passed = "" if owner == path else f", bucket {bucket_ids[owner]} is dead: the next slot of a living one"
        steps.append(("slot", f"{slot} of {len(slots)}{passed}"))
        found.append(Explanation(connection(row), steps, int(path) + 1, bucket_ids[path]))
    return found


def _needs_type(row: np.void) -> str:
    """Why nobody can say where an ICMP message goes, and the hint."""
    source, destination, protocol, *_ = connection(row).split(",")
    return f"reads ICMP's type and code, which are not known; write {source},{destination},{protocol},TYPE,CODE"


def parse_bucket_ids(text: str | None, paths: int) -> list[int]:
    """Bucket ids in the order of the paths; from 0 on when left out.

    Raises:
        AnabranchError: another number of ids, one twice, or one that is no 32-bit number.

    """
    if text is None:
        return list(range(paths))
    items = split_list(text)
    ids = [int(item) for item in items if item.isdecimal() and int(item) < 2**32 - 0xFF]
    if len(ids) < len(items) or len(set(ids)) < len(ids) or len(ids) != paths:
        raise AnabranchError(
            f"bucket-ids: {text}: not {paths} different numbers from 0 to 4294967040; give each path one"
        )
    return ids


def as_json(found: Sequence[DataclassInstance], command: list[str]) -> str:
    """Everything as JSON text."""
    return json.dumps({"command": command, "connections": [asdict(one) for one in found]}, indent=2) + "\n"


def _ends(row: np.void) -> tuple[str, str]:
    length = 16 if row["version"] == 6 else 4
    ends = (row[end][:length].tobytes() for end in ("source", "destination"))
    source, destination = (str(ipaddress.ip_address(end)) for end in ends)
    return source, destination


def connection(row: np.void) -> str:
    """As `explain` takes it."""
    names = {number: name for name, number in PROTOCOLS.items()}
    protocol = names.get(int(row["protocol"]), str(row["protocol"]))
    ports = () if _is_untyped(row) else (str(row["source_port"]), str(row["destination_port"]))
    return ",".join([*_ends(row), protocol, *ports])


def _grouped(row: np.void, read: bytes) -> str:
    """Bytes in hexadecimal, a space between the fields."""
    length = 16 if row["version"] == 6 else 4
    ends = np.cumsum([0, length, length, 2, 2, 1])
    return " ".join(read[begin:end].hex() for begin, end in pairwise(ends) if begin < len(read))


def _fields(row: np.void, udp_ports: bool = True, icmp: bool = False) -> str:
    """The fields that Open vSwitch hashes, in its order."""
    source, destination = _ends(row)
    prefix = "ipv6" if row["version"] == 6 else "ip"
    text = f"{prefix}_src={source} {prefix}_dst={destination} nw_proto={row['protocol']}"
    if icmp and row["protocol"] in ICMP:
        return f"{text} icmp_type={row['source_port']} icmp_code={row['destination_port']}"
    name = PORTED.get(int(row["protocol"]))
    if name is None or (name == "udp" and not udp_ports):
        return text
    return f"{text} {name}_src={row['source_port']} {name}_dst={row['destination_port']}"
