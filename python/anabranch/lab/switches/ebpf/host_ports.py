"""The border at which packets of hosts become packets of the network: a copy goes on, and the host has sent its own.

Between namespaces the kernel hands over a packet itself, with its socket still attached, up to the receiver. Then TCP
sees what no sender can: it counts what waits in the network's queues as waiting in its own host (TCP small queues:
tcp_limit_output_bytes in ip-sysctl), so that those hardly fill, and it does not send again what it sees is still on
its way (TCPSpuriousRtxHostQueues). Measured over four paths with packets at random: 0.4 % of segments sent again, and
10 % once that has ended. A real device frees a packet that is on the wire. veth does what comes to the same before a
program of XDP: it gives that a copy of its own and frees the original. So each port of a switch with a host behind it
has such a program, which passes on all it sees.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

from anabranch import _core
from anabranch.lab.fabric.blueprint import Blueprint

NAME = "_hosts"
"""Name of its folder. No node of a fabric is called so."""
SCHEME, HOOK = "slots", "xdp"
NOBODY = "192.0.2.0/24"
"""Documentation's addresses (RFC 5737): a program passes on whatever it has no route for."""


def part(folder: Path, blueprint: Blueprint) -> None:
    """Has packets of hosts copied, at all ports with a host behind them; in the switches' namespace.

    Raises:
        AnabranchError: the kernel refuses.

    """
    ports = [socket.if_nametoindex(device) for device in _ports(blueprint)]
    datapath = _core.KernelDatapath.create(str(folder / NAME), SCHEME, 1, 1)
    datapath.put([_core.KernelGroup("nobody", [NOBODY], ports[:1], [1], [True], "redirect")])
    for port in ports:
        datapath.attach(port, HOOK)


def join(folder: Path) -> None:
    """Ends it: for packets of many segments, which veth cuts up before XDP.

    Raises:
        AnabranchError: the kernel refuses.

    """
    datapath = _core.KernelDatapath.open(str(folder / NAME))
    if datapath is not None:
        datapath.remove()


def _ports(blueprint: Blueprint) -> Iterator[str]:
    for switch in blueprint.switches:
        for end, neighbour in blueprint.ports(switch):
            if neighbour in blueprint.hosts:
                yield end.device
