"""How a connection comes to its path: fields, hash, score or slot."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from anabranch import _core
from anabranch.deploy.targets.plan.captured import header_words
from anabranch.deploy.targets.plan.group import Group
from anabranch.files.errors import AnabranchError
from anabranch.split.change import split_list
from anabranch.split.request import Choice
from anabranch.split.splitter import Splitter, hashes
from anabranch.split.tuples import FIVE_TUPLE, PROTOCOLS, five_tuples, flow_keys, tuple_bytes

PORTED = {PROTOCOLS["tcp"]: "tcp", PROTOCOLS["udp"]: "udp", PROTOCOLS["sctp"]: "sctp"}
ICMP = (PROTOCOLS["icmp"], PROTOCOLS["icmpv6"])
TYPE_MAX = 255
UNTYPED = 0xFFFF
"""Value of both ports of an ICMP message whose type and code are not known: neither has more than 8 bits."""


@dataclass(frozen=True)
class Explanation:
    """One connection's path."""

    connection: str
    steps: list[tuple[str, str]]
    path: int | None
    """From 1; None where the connection as given does not tell."""
    bucket_id: int | None = None
    """Number of the target's own for the path, where it has one."""
    unknown: str = ""
    """Reason why there is no path; empty where there is one."""


class Predicted(Protocol):
    """The path of one connection under a plan; a dataclass, all of which `--json` writes."""

    @property
    def connection(self) -> str:
        """The connection as `described` gives it."""
        ...

    @property
    def steps(self) -> list[tuple[str, str]]:
        """The steps of the choice, and the value of each."""
        ...

    @property
    def last(self) -> tuple[str, str]:
        """The last step, for people."""
        ...

    @property
    def known(self) -> bool:
        """Whether the connection as given tells where it goes."""
        ...


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


def is_untyped(tuples: npt.NDArray[np.void] | np.void) -> npt.NDArray[np.bool_]:
    """Which connections are ICMP messages whose type or code is not known."""
    beyond = (tuples["source_port"] > TYPE_MAX) | (tuples["destination_port"] > TYPE_MAX)
    untyped: npt.NDArray[np.bool_] = np.isin(tuples["protocol"], ICMP) & beyond
    return untyped


def by_technique(
    tuples: npt.NDArray[np.void], group: Group, choice: Choice, hash_name: str, seed: int
) -> list[Explanation]:
    """The choice of one of the library's techniques; one that remembers connections sees them in the order given.

    Dead paths have failed in the group of all, as `Splitter.update` has it: connections of the others stay.
    """
    splitter = Splitter(choice.name, group.weights, None, **dict(choice.parameters))
    if group.degraded:
        splitter.update(up=group.up)
    hash_used = next(hash_ for hash_ in hashes() if hash_.name == hash_name)
    tuples = tuples.copy()
    hidden = is_untyped(tuples)
    # `split` counts an ICMP message of a trace with ports 0.
    tuples["source_port"][hidden] = tuples["destination_port"][hidden] = 0
    keys = flow_keys(tuples, hash_name, seed)
    explanations = []
    results = hash_used.results(keys)
    inputs = _core.hash_input(tuple_bytes(tuples), hash_name)
    for row, key, result, read in zip(tuples, keys, results, inputs, strict=True):
        steps = [] if read is None else [("hash input", f"{_grouped(row, read)} ({len(read)} bytes)")]
        steps.append((hash_name, f"0x{int(result):0{hash_used.bits // 4}x} (seed {seed})"))
        if hash_used.factor != 1:
            steps.append(("key", f"0x{int(key):08x} = {result} x {hash_used.factor}"))
        steps += splitter.explain(int(key))
        path = int(splitter.pick(np.array([key]))[0])
        explanations.append(Explanation(connection(row), steps, path + 1))
    return explanations


def record(explanations: Sequence[Any]) -> dict[str, Any]:
    """Every connection with its steps as plain data."""
    return {"connections": [asdict(one) for one in explanations]}


def ends_of(row: np.void) -> tuple[str, str]:
    """Source and destination address of a connection, as text."""
    length = 16 if row["version"] == 6 else 4
    ends = (row[end][:length].tobytes() for end in ("source", "destination"))
    source, destination = (str(ipaddress.ip_address(end)) for end in ends)
    return source, destination


def described(row: np.void) -> str:
    """The connection as `explain` takes it, and the headers around it that a capture has."""
    words = header_words(row)
    return f"{connection(row)} ({words})" if words else connection(row)


def connection(row: np.void) -> str:
    """The connection as `explain` takes it."""
    names = {number: name for name, number in PROTOCOLS.items()}
    protocol = names.get(int(row["protocol"]), str(row["protocol"]))
    ports = () if is_untyped(row) else (str(row["source_port"]), str(row["destination_port"]))
    return ",".join([*ends_of(row), protocol, *ports])


def _grouped(row: np.void, read: bytes) -> str:
    """Bytes in hexadecimal, a space between the fields."""
    length = 16 if row["version"] == 6 else 4
    ends = np.cumsum([0, length, length, 2, 2, 1])
    return " ".join(read[begin:end].hex() for begin, end in pairwise(ends) if begin < len(read))
