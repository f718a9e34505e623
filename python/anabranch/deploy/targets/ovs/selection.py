"""The bucket that Open vSwitch selects for a connection, by each of its selection methods."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.deploy.targets.ovs.headers import as_read, is_no_ip, is_unknown_to_l4
from anabranch.deploy.targets.ovs.own_hash import DP_HASHES, dp_hashes, selected
from anabranch.deploy.targets.ovs.recipes import WEIGHT_MAX, Switch
from anabranch.deploy.targets.plan.captured import LATER_FRAGMENT, header_words
from anabranch.deploy.targets.plan.explanation import (
    ICMP,
    PORTED,
    Explanation,
    connection,
    described,
    ends_of,
    is_untyped,
)
from anabranch.deploy.targets.plan.group import Group, within
from anabranch.files.errors import AnabranchError
from anabranch.split.change import split_list
from anabranch.split.splitter import Splitter

NO_IP = "because Open vSwitch sees no IP behind these headers"
UNTYPED = "without ICMP's type and code"
UNORDERED = "without the number of the first extension header"
NEEDS_FIRST = "hashes the number of IPv6's first extension header, not the protocol, and a trace does not tell it"


def by_selection(
    tuples: npt.NDArray[np.void], group: Group, switch: Switch, bucket_ids: Sequence[int]
) -> list[Explanation]:
    """The choice of Open vSwitch under `selection_method=hash`, its fields being the whole 5-tuple."""
    weights = within(group, WEIGHT_MAX, "OpenFlow")
    live = [path for path, weight in enumerate(weights) if weight and group.up[path]]
    buckets = [(bucket_ids[path], weights[path]) for path in live]
    explanations = []
    chosen_by_row = selected(tuples, buckets, switch.parameter)
    for row, read, no_ip, (basis, scores, chosen) in zip(
        tuples, as_read(tuples), is_no_ip(tuples), chosen_by_row, strict=True
    ):
        if no_ip:
            explanations.append(Explanation(described(row), [], None, unknown=NO_IP))
            continue
        steps = [("fields", _fields(read)), ("basis", f"0x{basis:08x} (selection_method_param {switch.parameter})")]
        steps += [
            (f"score of bucket {bucket_id}", f"{score} = {value} x {weight} (path {path + 1})")
            for path, (bucket_id, weight), (value, score) in zip(live, buckets, scores, strict=True)
        ]
        explanations.append(Explanation(described(row), steps, live[chosen] + 1, buckets[chosen][0]))
    return explanations


def by_dp_hash(
    tuples: npt.NDArray[np.void],
    group: Group,
    switch: Switch,
    bucket_ids: Sequence[int],
    default: bool,
    hint: str = "use --method hash, or the weights of `anabranch plan`",
) -> list[Explanation]:
    """The choice of Open vSwitch's userspace datapath under `dp_hash`, or without a method (`default`).

    Algorithm L4 reads ICMP's type and code; a message whose these are not known has no path here. `hint` is for weights
    that do not fit.

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
            f"Ethernet addresses, which a 5-tuple does not tell; {hint}"
        )
    splitter = Splitter("ovs-dp-hash", weights, group.up, **switch.sizing)
    keys, reads = dp_hashes(tuples, algorithm, basis), as_read(tuples)
    hidden = is_unknown_to_l4(tuples) if algorithm == 0 else np.zeros(len(tuples), bool)
    explanations = []
    for row, read, no_ip, key, path, unknown in zip(
        tuples, reads, is_no_ip(tuples), keys, splitter.pick(keys), hidden, strict=True
    ):
        if no_ip:
            explanations.append(Explanation(described(row), [], None, unknown=NO_IP))
            continue
        if unknown:
            typed = not is_untyped(read)
            needs, reason = (NEEDS_FIRST, UNORDERED) if typed else (_needs_type(row), UNTYPED)
            steps = [("fields", _fields(read)), ("dp_hash", needs)]
            explanations.append(Explanation(described(row), steps, None, unknown=reason))
            continue
        slot = int(key) & (len(slots) - 1)
        steps = [("fields", _fields(read, udp_ports=algorithm == 0, icmp=algorithm == 0))]
        steps.append(("dp_hash", f"0x{int(key):08x} ({DP_HASHES[algorithm].removeprefix('ovs-')}, basis {basis})"))
        owner = slots[slot]
        passed = "" if owner == path else f", bucket {bucket_ids[owner]} is dead: the next slot of a living one"
        steps.append(("slot", f"{slot} of {len(slots)}{passed}"))
        explanations.append(Explanation(described(row), steps, int(path) + 1, bucket_ids[path]))
    return explanations


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


def _fields(row: np.void, udp_ports: bool = True, icmp: bool = False) -> str:
    """The fields that Open vSwitch hashes, in its order; `row` is what it reads."""
    source, destination = ends_of(row)
    prefix = "ipv6" if row["version"] == 6 else "ip"
    text = f"{prefix}_src={source} {prefix}_dst={destination} nw_proto={row['protocol']}"
    if icmp and row["protocol"] in ICMP:
        return f"{text} icmp_type={row['source_port']} icmp_code={row['destination_port']}"
    name = PORTED.get(int(row["protocol"]))
    if header_words(row) and int(row["headers"]) & LATER_FRAGMENT:
        return f"{text} (a later fragment: no ports)"
    if name is None or (name == "udp" and not udp_ports):
        return text
    return f"{text} {name}_src={row['source_port']} {name}_dst={row['destination_port']}"
