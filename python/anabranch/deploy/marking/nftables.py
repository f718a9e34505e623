"""Marks at the sender: packets towards a leaf are labelled in turn, in their DSCP field, by nftables.

One table of our own, replaced as a whole in one transaction of the kernel, so that no packet sees half of it. Its
chain is at postrouting, where packets of this machine and of what it forwards for (containers, virtual machines) both
pass. Each destination has one counter (`numgen`), so turns are taken by host, not by flow: the simulator's
`round_robin = "host"`. A verdict map to one chain per label sets the six bits of DSCP and leaves the two of ECN (RFC
2474, RFC 3168); a map straight into the byte would erase them.

Linux hands TCP's data through these hooks in packets of up to 64 KB and cuts them up behind, whether a device offloads
that or not (since 4.17), and then all segments of one would bear one label. `gso_max_segs 1` on the device ends that,
for connections made from then on.
"""

from __future__ import annotations

import ipaddress
import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.files.errors import AnabranchError

TABLE = "anabranch_mark"
FAMILY = "ip"
CHAIN = "spray"
PRIORITY_MANGLE = -150
LABEL_MAX = 63
SEGMENTS_DEFAULT = 65535
TIMEOUT_S = 20


@dataclass(frozen=True)
class Marks:
    """Labels for each prefix that this host marks for, taken in this order."""

    labels: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """(prefix, labels), the longest prefix first."""
    by_mark: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    """(prefix, SO_MARK, labels): labels that only packets of sockets with this mark take in turn."""

    @classmethod
    def of(cls, labels: Mapping[str, Iterable[int]]) -> Marks:
        """Checks and makes them.

        Raises:
            AnabranchError: a text is no IPv4 prefix, or a label is not from 1 to 63.

        """
        marks = []
        for prefix, numbers in labels.items():
            try:
                network = ipaddress.IPv4Network(prefix)
            except ValueError as error:
                raise AnabranchError(f"labels: {prefix}: {error}; write a prefix as 10.2.0.0/24") from None
            row = tuple(numbers)
            for label in row:
                if isinstance(label, bool) or not isinstance(label, int) or not 1 <= label <= LABEL_MAX:
                    raise AnabranchError(f"labels: {prefix}: {label!r}: not a label; they are 1 to {LABEL_MAX}")
            if row:
                marks.append((network, row))
        marks.sort(key=lambda entry: (-entry[0].prefixlen, entry[0]))
        return cls(tuple((str(network), row) for network, row in marks))


def marks_of(text: str, *, leaf: str | None, addresses: Sequence[str]) -> Marks:
    """Labels of one host, out of the controller's text for all hosts (`slices.published`).

    The host's leaf is `leaf`, or else the one with a prefix that contains one of its addresses.

    Raises:
        AnabranchError: text of another form, an unknown leaf, or no leaf for these addresses.

    """
    try:
        document = json.loads(text)
        if document["format"] != 1:
            raise ValueError(f"format {document['format']!r}, not 1")
        leaves = {name: (list(entry["prefixes"]), dict(entry["labels"])) for name, entry in document["leaves"].items()}
        nets = {name: [ipaddress.IPv4Network(prefix) for prefix in entry[0]] for name, entry in leaves.items()}
        if not all(isinstance(row, list) for _, labels in leaves.values() for row in labels.values()):
            raise TypeError("labels are lists")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        kind = type(error).__name__
        raise AnabranchError(f"labels: not what a controller serves ({kind}: {error}); give its slices.json") from None
    if leaf is None:
        own = [ipaddress.IPv4Address(address) for address in addresses]
        leaf = next((name for name in nets if any(a in net for a in own for net in nets[name])), None)
        if leaf is None:
            raise AnabranchError(
                f"labels: no leaf has a prefix with an address of this host ({', '.join(addresses)}); give --leaf"
            )
    if leaf not in leaves:
        raise AnabranchError(f"leaf: {leaf}: unknown to the controller; one of {', '.join(leaves)}")
    return Marks.of(leaves[leaf][1])


def ruleset(marks: Marks) -> dict[str, Any]:
    """Transaction that replaces our table, whether or not it exists (`libnftables-json(5)`)."""
    rows = [*(row for _, row in marks.labels), *(row for _, _, row in marks.by_mark)]
    used = sorted({label for row in rows for label in row})
    chains = [_chain(f"label{label}") for label in used]
    dscp = {"payload": {"protocol": "ip", "field": "dscp"}}
    sets = [
        _rule(chain["add"]["chain"]["name"], {"mangle": {"key": dscp, "value": label}})
        for chain, label in zip(chains, used, strict=True)
    ]
    spray = {"type": "filter", "hook": "postrouting", "prio": PRIORITY_MANGLE, "policy": "accept"}
    turns = [_turn(prefix, row, mark) for prefix, mark, row in marks.by_mark]
    turns += [_turn(prefix, row) for prefix, row in marks.labels]
    return {"nftables": [*_removal(), {"add": _table()}, *chains, *sets, _chain(CHAIN, spray), *turns]}


def install(marks: Marks, *, enter: Sequence[str] = ()) -> None:
    """Starts marking in the namespace that `enter` (a command prefix) leads to.

    Raises:
        AnabranchError: nft is missing or refuses.

    """
    _nft(ruleset(marks), enter)


def remove(*, enter: Sequence[str] = ()) -> None:
    """Ends marking; no error if there was none.

    Raises:
        AnabranchError: nft is missing or refuses.

    """
    _nft({"nftables": _removal()}, enter)


def single_segments(device: str, *, enter: Sequence[str] = ()) -> int:
    """Lets only packets of a single segment reach the hooks on their way to `device`; returns its limit before.

    Raises:
        AnabranchError: no such device, or no right to change it.

    """
    shown = json.loads(_run([*enter, "ip", "-json", "-details", "link", "show", "dev", device]))
    before = int(shown[0].get("gso_max_segs", SEGMENTS_DEFAULT))
    set_segments(device, 1, enter=enter)
    return before


def set_segments(device: str, segments: int, *, enter: Sequence[str] = ()) -> None:
    """Sets the largest number of segments of one packet towards `device`.

    Raises:
        AnabranchError: no such device, or no right to change it.

    """
    _run([*enter, "ip", "link", "set", "dev", device, "gso_max_segs", str(segments)])


def own_addresses(*, enter: Sequence[str] = ()) -> list[str]:
    """IPv4 addresses of this host, without loopback's."""
    shown = json.loads(_run([*enter, "ip", "-json", "-4", "address", "show"]))
    return [
        entry["local"]
        for device in shown
        if "LOOPBACK" not in device.get("flags", ())
        for entry in device.get("addr_info", ())
    ]


def _removal() -> list[dict[str, Any]]:
    """Commands that remove the table. It is added first, because deleting a missing one would be refused."""
    return [{"add": _table()}, {"delete": _table()}]


def _table() -> dict[str, Any]:
    return {"table": {"family": FAMILY, "name": TABLE}}


def _chain(name: str, base: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"add": {"chain": {"family": FAMILY, "table": TABLE, "name": name, **(base or {})}}}


def _rule(chain: str, *expressions: Mapping[str, Any]) -> dict[str, Any]:
    counted = [{"counter": None}, *expressions]
    return {"add": {"rule": {"family": FAMILY, "table": TABLE, "chain": chain, "expr": counted}}}


def _turn(prefix: str, labels: Sequence[int], mark: int | None = None) -> dict[str, Any]:
    """Rule that sends packets for a prefix, perhaps only those with a mark, to the labels' chains in turn."""
    network = ipaddress.IPv4Network(prefix)
    address = {"prefix": {"addr": str(network.network_address), "len": network.prefixlen}}
    towards = {"match": {"op": "==", "left": {"payload": {"protocol": "ip", "field": "daddr"}}, "right": address}}
    turn = {"numgen": {"mode": "inc", "mod": len(labels), "offset": 0}}
    verdicts = [[number, {"goto": {"target": f"label{label}"}}] for number, label in enumerate(labels)]
    of_mark = [] if mark is None else [{"match": {"op": "==", "left": {"meta": {"key": "mark"}}, "right": mark}}]
    rule = {"expr": [towards, *of_mark, {"vmap": {"key": turn, "data": {"set": verdicts}}}]}
    return {"add": {"rule": {"family": FAMILY, "table": TABLE, "chain": CHAIN, **rule}}}


def _nft(transaction: Mapping[str, Any], enter: Sequence[str]) -> None:
    _run([*enter, "nft", "--json", "--file", "-"], json.dumps(transaction))


def _run(command: list[str], given: str = "") -> str:
    for program in (command[0], "nft" if "nft" in command else "ip"):
        if shutil.which(program) is None:
            raise AnabranchError(f"{program}: not on the PATH; apt install nftables iproute2")
    run = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    if run.returncode:
        lines = (run.stderr or run.stdout).strip().splitlines() or [f"status {run.returncode}"]
        raise AnabranchError(f"{' '.join(command)}: {lines[0]}; marking needs CAP_NET_ADMIN and nftables in the kernel")
    return run.stdout
