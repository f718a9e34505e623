"""Addresses of switches as Open vSwitch writes them: `unix:/path`, `tcp:host:port`, `ssl:host:port` (`ovsdb(7)`)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from anabranch.files.errors import AnabranchError

PORT = 6653
"""Port that IANA assigned to OpenFlow."""
UNIX, TCP, SSL = "unix", "tcp", "ssl"


@dataclass(frozen=True)
class Address:
    """One end of a connection."""

    kind: str
    """`unix`, `tcp` or `ssl`."""
    host: str
    """Host, or the path of the socket for `unix`."""
    port: int = 0

    def __str__(self) -> str:
        if self.kind == UNIX:
            return f"{UNIX}:{self.host}"
        return f"{self.kind}:[{self.host}]:{self.port}" if ":" in self.host else f"{self.kind}:{self.host}:{self.port}"


def parse_address(text: str, default_port: int = PORT) -> Address:
    """Parses `unix:/run/openvswitch/br0.mgmt`, `tcp:192.0.2.1:6653` or `ssl:[2001:db8::1]`.

    Raises:
        AnabranchError: it is none of these.

    """
    kind, _, rest = text.partition(":")
    if kind == UNIX and rest:
        return Address(UNIX, rest)
    if rest.startswith("["):
        host, bracket, port = rest[1:].partition("]")
        right = bool(bracket) and (not port or port.startswith(":"))
        port = port[1:]
    else:
        host, _, port = rest.partition(":")
        right = ":" not in port
    number = int(port) if port.isascii() and port.isdecimal() else default_port
    right = right and (not port or str(number) == port) and 0 < number < 1 << 16
    if kind not in (TCP, SSL) or not host or not right:
        forms = f"unix:/path, tcp:host:{default_port} or ssl:[2001:db8::1]:{default_port}"
        raise AnabranchError(f"address: {text}: not an address; write {forms}")
    return Address(kind, host, number)


def is_loopback(host: str) -> bool:
    """Whether an address is of the machine itself; a name counts as one only if it is `localhost`."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
