"""LLDP frames of switches whose ports are devices of one network namespace, for those that check cables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import monotonic

from anabranch.deploy.control.fabric import SwitchFile
from anabranch.deploy.control.topology import Topology
from anabranch.deploy.control.wiring import Wiring
from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.wiring.packet_socket import PacketSocket
from anabranch.files.errors import AnabranchError

AT_ONCE = 32
"""Frames that are read before others have their turn."""
FRAMES_PER_S = 2000
"""Frames that are read in a second; of more, those that the socket keeps are read when it is over."""


class DeviceCables:
    """Frames by the devices of a namespace, passed between them and what checks cables.

    Made by a thread that is inside the namespace, in an event loop; without privilege it says so, and does nothing.

    Args:
        wiring: what checks the cables.
        topology: the fabric as built.
        switches: those whose ports are devices of the namespace.

    """

    def __init__(self, wiring: Wiring, topology: Topology, switches: Sequence[SwitchFile]) -> None:
        self._wiring = wiring
        self._ports = {device: topology.port[end] for switch in switches for end, device in switch.interfaces.items()}
        """Our number of each device's port, by the device's name."""
        self._names = {port: device for device, port in self._ports.items()}
        self._switches = [switch.name for switch in switches]
        self._socket: PacketSocket | None = None
        self._second_s, self._frames = monotonic(), 0
        self._patience: asyncio.TimerHandle | None = None
        if not wiring.is_on:
            return
        try:
            self._socket = PacketSocket()
        except AnabranchError as error:
            for name in self._switches:
                wiring.away(name, str(error))
            return
        for name in self._switches:
            wiring.expect(name)

    def __enter__(self) -> DeviceCables:
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._stop_reading()
            self._socket.close()
        for name in self._switches:
            self._wiring.away(name)

    def take(self, devices: Mapping[str, Device]) -> None:
        """Takes the devices that there are now, by name; from the first time on, frames are sent and heard."""
        if self._socket is None:
            return
        self._socket.join(devices[name].index for name in self._ports if name in devices)
        self._read_on()
        for name in self._switches:
            self._wiring.ready(name, self._send)
        self._wiring.look()

    def _send(self, port: int, frame: bytes) -> None:
        if self._socket is not None:
            self._socket.send(self._names[port], frame)

    def _read_on(self) -> None:
        if self._socket is not None and self._patience is None:
            asyncio.get_running_loop().add_reader(self._socket.fileno(), self._read)

    def _stop_reading(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _read(self) -> None:
        assert self._socket is not None
        now_s = monotonic()
        if now_s - self._second_s >= 1:
            self._second_s, self._frames = now_s, 0
        for _ in range(AT_ONCE):
            heard = self._socket.read()
            if heard is None:
                return
            self._frames += 1
            device, frame = heard
            port = self._ports.get(device)
            if port is not None:
                self._wiring.hears(port, frame)
        if self._frames >= FRAMES_PER_S:
            self._stop_reading()
            self._patience = asyncio.get_running_loop().call_later(1.0, self._patient)

    def _patient(self) -> None:
        self._patience = None
        self._read_on()
