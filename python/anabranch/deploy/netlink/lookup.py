"""Path on which the kernel would send a connection: route look-ups by 5-tuple, without a packet (`ip route get`).

The kernel's multipath hash has a random key of its own (siphash, `net/ipv4/route.c` fib_multipath_hash), so its choice
cannot be computed outside; the kernel itself can be asked, some 100,000 times a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.deploy.netlink.connection import HEADER, NLMSG_ERROR, REQUEST, Connection, attributes, messages
from anabranch.deploy.netlink.kernel import FAMILIES
from anabranch.deploy.netlink.message import RTM_GETROUTE, rtmsg
from anabranch.deploy.netlink.nexthop import Address, address_of
from anabranch.files.errors import AnabranchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BATCH = 32
"""Number of requests of a batch: their answers wait in the socket's buffer, and more would overflow the default one."""
ROUTE_HEADER_BYTES = 12
DEVICE, GATEWAY, VIA = 4, 5, 18
MARKS: list[tuple[str, Any]] = [("RTA_SPORT", 0x5AA5), ("RTA_DPORT", 0xA55A)]
"""Placeholders for the ports in the message that is patched per connection."""


def look_up(
    connection: Connection,
    protocol: int,
    destinations: npt.NDArray[np.uint8],
    source_ports: npt.NDArray[np.uint16],
    destination_ports: npt.NDArray[np.uint16],
) -> list[tuple[int, Address | None]]:
    """Finds (device number, gateway) by which each connection from this machine would leave; device 0: no route.

    Args:
        connection: to the kernel.
        protocol: TCP (6) or UDP (17); the ports of others are not hashed.
        destinations: addresses, shape (n, 4) or (n, 16).
        source_ports: shape (n,).
        destination_ports: shape (n,).

    """
    rows = _requests(protocol, destinations, source_ports, destination_ports)
    routes: list[tuple[int, Address | None]] = []
    for begin in range(0, len(rows), BATCH):
        batch = rows[begin : begin + BATCH]
        connection.socket.send(batch.tobytes())
        answers = 0
        while answers < len(batch):
            for _, type_, _, _, data in messages(connection.receive()):
                routes.append((0, None) if type_ == NLMSG_ERROR else _hop(data))
                answers += 1
    return routes


def _requests(
    protocol: int,
    destinations: npt.NDArray[np.uint8],
    source_ports: npt.NDArray[np.uint16],
    destination_ports: npt.NDArray[np.uint16],
) -> npt.NDArray[np.uint8]:
    """Makes a request per connection, shape (n, bytes of a request)."""
    import numpy as np

    bytes_ = destinations.shape[1]
    if bytes_ not in (4, 16):
        raise AnabranchError(f"destinations: {bytes_} bytes each; give 4 or 16")
    mark = bytes(range(0xE0, 0xE0 + bytes_))
    message = rtmsg()
    message["family"], message["dst_len"] = FAMILIES[4 if bytes_ == 4 else 6], 8 * bytes_
    message["attrs"] = [("RTA_DST", mark), ("RTA_IP_PROTO", protocol), *MARKS]
    message["header"]["type"], message["header"]["flags"] = RTM_GETROUTE, REQUEST
    message.encode()
    template = bytes(message.data)
    rows = np.tile(np.frombuffer(template, np.uint8), (len(destinations), 1))
    for sought, values in (
        (mark, destinations),
        (MARKS[0][1].to_bytes(2, "big"), source_ports.astype(">u2").view(np.uint8).reshape(-1, 2)),
        (MARKS[1][1].to_bytes(2, "big"), destination_ports.astype(">u2").view(np.uint8).reshape(-1, 2)),
    ):
        at = template.index(sought)
        rows[:, at : at + len(sought)] = values
    return rows


def _hop(data: bytes) -> tuple[int, Address | None]:
    device, gateway = 0, None
    for type_, value in attributes(data, HEADER.size + ROUTE_HEADER_BYTES):
        if type_ == DEVICE:
            device = int.from_bytes(value, "little")
        elif type_ == GATEWAY:
            gateway = address_of(value)
        elif type_ == VIA:
            gateway = address_of(value[2:])
    return device, gateway
