"""Two stages of choice, as in Fig. 2 and 5 of the DBB paper: the fabric, and each packet's path in the simulator."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from anabranch import _core

Rates = tuple[int, ...]
PACKETS = 23
"""More than two cycles of the longest list, and not a multiple of any."""
LINKS = (("S1", "S2"), ("S1", "S3"), ("S2", "S4"), ("S2", "S5"), ("S3", "S4"), ("S3", "S5"), ("S4", "S6"), ("S5", "S6"))
FIG_2: Rates = (6, 6, 6, 6, 6, 6, 6, 6)
"""Rates of the links of the paper's Fig. 2, here in Mb/s."""
FIG_5: Rates = (2, 8, 1, 1, 3, 5, 4, 6)
THIRD = '{ from = "h9", to = "S9" }, { from = "S9", to = "S2", rate = "3 Mbps" }, { from = "S9", to = "S3" },'
"""A third leaf, behind the same switches as S1."""
MIXED = tuple(("S1", "S9")[number % 3 == 1] for number in range(PACKETS))
"""Senders of packets of two leaves."""
FABRICS: Mapping[str, tuple[Rates, Sequence[str], str]] = {
    "fig2": (FIG_2, ("S1",) * PACKETS, ""),
    "fig5": (FIG_5, ("S1",) * PACKETS, ""),
    "shared": (FIG_5, MIXED, THIRD),
}
"""Rates, senders and further edges by name."""
ADDRESSES = {"S1": "10.1.1.0/24", "S6": "10.1.6.0/24", "S9": "10.1.9.0/24"}
TRAFFIC = '[[traffic]]\nkind = "once"\npattern = { pairs = [[0, 1]] }\n'


def fabric(rates: Rates, more: str = "") -> str:
    """Keys of `[fabric]`: h1 at S1, h6 at S6, and further edges."""
    links = [
        f'{{ from = "{a}", to = "{b}", rate = "{rate} Mbps" }},' for (a, b), rate in zip(LINKS, rates, strict=True)
    ]
    hosts = ['{ from = "h1", to = "S1", rate = "20 Mbps" },', '{ from = "S6", to = "h6", rate = "20 Mbps" },']
    edges = "\n".join([*hosts, *links])
    return f'kind = "graph"\nlink = {{ delay = "1 us" }}\nedge = [\n{edges}\n{more}]'


def with_addresses(rates: Rates, more: str = "") -> str:
    """A file of the fabric with the prefixes of its leaves."""
    described = fabric(rates, more)
    leaves = (f'[leaf.{leaf}]\nprefixes = ["{prefix}"]\n' for leaf, prefix in ADDRESSES.items() if leaf in described)
    return f"[fabric]\n{described}\n{''.join(leaves)}"


def frame(source: str, destination: str, number: int, ether_type: int = 0x0800) -> bytes:
    """A frame from the first host of a leaf to that of another, with a number to know it by."""
    first, last = (ipaddress.ip_network(ADDRESSES[leaf])[1].packed for leaf in (source, destination))
    head = bytes.fromhex("02ab0000000102ab00000002") + ether_type.to_bytes(2, "big")
    return head + bytes.fromhex("450000200000000040110000") + first + last + number.to_bytes(12, "big")


def path(passed: Mapping[tuple[str, str], int], source: str = "S1") -> list[str]:
    """Switches that one packet from a leaf to S6 went through, by the links that it was counted on."""
    at, found = source, [source]
    while at != "S6":
        (at,) = [to for (node, to), packets in passed.items() if node == at and packets]
        found.append(at)
    return found


def simulated(rates: Rates, senders: Sequence[str] = ("S1",) * PACKETS, more: str = "") -> Iterator[list[str]]:
    """The path of each packet: what one packet more adds to the links' counters.

    Args:
        rates: of `LINKS`.
        senders: the leaf that each packet comes from, in turn; S1, or one that is added.
        more: further edges, of leaves with one host each, in the order in which they are first among the senders.

    """
    hosts = {leaf: index if index == 0 else index + 1 for index, leaf in enumerate(dict.fromkeys(["S1", *senders]))}
    before: Counter[tuple[str, str]] = Counter()
    for number, sender in enumerate(senders, 1):
        traffic = "".join(
            f'[[traffic]]\nkind = "once"\npattern = {{ pairs = [[{hosts[leaf]}, 1]] }}\nsizes = "{100 * packets} B"\n'
            'mss = "100 B"\ntransport = { kind = "udp", rate = "100 kbps" }\n'
            for leaf, packets in Counter(senders[:number]).items()
        )
        text = f'[fabric]\n{fabric(rates, more)}\n{traffic}[record]\ninterval = "0 s"\n'
        scenario = _core.Scenario(text, "two-stages.toml", [("routing.balance", '"dbb"')])
        names, counted = scenario.topology()["nodes"]["name"], scenario.run().ports
        columns = (counted[name] for name in ("from", "to", "sent_packets"))
        after = Counter({(names[a], names[b]): int(count) for a, b, count in zip(*columns, strict=True)})
        yield path(after - before, sender)
        before = after
