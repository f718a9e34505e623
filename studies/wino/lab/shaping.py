"""Slices as classes of HTB at a leaf's uplinks, told apart by DSCP: what waits where a meter drops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from anabranch.deploy.targets.plan.slices import Pair
from anabranch.lab.fabric import iproute, shaping
from anabranch.lab.fabric.blueprint import End
from anabranch.lab.fabric.topology import Lab

REST = 0xFFFF
"""The class of packets in no slice: the link's rate if slices leave it, and always a little."""
FIRST = 0x100
"""The class of label 0, were there one."""
REST_BPS = 1_000_000


def install(lab: Lab, pairs: Iterable[Pair], rate_bps: dict[frozenset[str], int]) -> None:
    """Shapes the uplinks of every pair's source by its slices; rates are by the nodes of a link.

    Raises:
        AnabranchError: the kernel refuses.

    """
    for pair in pairs:
        for path, hops in enumerate(pair.paths):
            leaf, spine = pair.source, hops[1][0]
            end = _end(lab, leaf, spine)
            labels = [label for label, of in zip(pair.slices.labels, pair.slices.path_of, strict=True) if of == path]
            _replace(lab, end, _classes(end, rate_bps[frozenset((leaf, spine))], pair.slices.slice_bps, labels))


def remove(lab: Lab, pairs: Iterable[Pair], rate_bps: dict[frozenset[str], int]) -> None:
    """Puts the links' own shaping back.

    Raises:
        AnabranchError: the kernel refuses.

    """
    for pair in pairs:
        for hops in pair.paths:
            end = _end(lab, pair.source, hops[1][0])
            rate = rate_bps[frozenset((pair.source, hops[1][0]))]
            _replace(lab, end, shaping.lines(end.device, rate, end.buffer_bytes))


def _end(lab: Lab, node: str, neighbour: str) -> End:
    cable = lab.cable(node, neighbour)
    return cable.a if cable.a.node == node else cable.b


def _replace(lab: Lab, end: End, lines: Iterable[str]) -> None:
    iproute.batch("tc", lab.blueprint.switch_namespace, [f"qdisc del dev {end.device} root", *lines])


def _classes(end: End, link_bps: int, slice_bps: int, labels: list[int]) -> Iterator[str]:
    """A class for each slice, which never has more than its rate, with its part of the link's room."""
    device = end.device
    room = (end.buffer_bytes or shaping.UNLIMITED_BYTES) // max(1, len(labels))
    yield f"qdisc add dev {device} root handle 1: htb default {REST:x}"
    yield f"class add dev {device} parent 1: classid 1:1 {_htb(link_bps, link_bps)}"
    yield f"class add dev {device} parent 1:1 classid 1:{REST:x} {_htb(REST_BPS, link_bps)}"
    for label in labels:
        number = FIRST + label
        yield f"class add dev {device} parent 1:1 classid 1:{number:x} {_htb(slice_bps, slice_bps)}"
        yield f"qdisc add dev {device} parent 1:{number:x} handle {number:x}: bfifo limit {room}"
        match = f"u32 match ip dsfield {label << 2:#x} 0xfc"
        yield f"filter add dev {device} parent 1: protocol ip prio 1 {match} flowid 1:{number:x}"


def _htb(rate_bps: int, ceiling_bps: int) -> str:
    burst = shaping.BURST_LEAST_BYTES
    rest = f"burst {burst} cburst {burst} quantum 60000 overhead {shaping.OVERHEAD_BYTES}"
    return f"htb rate {rate_bps}bit ceil {ceiling_bps}bit {rest}"
