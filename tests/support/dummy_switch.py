"""A real Open vSwitch without a datapath of the kernel's: a bridge `br0` whose ports 1 to 4 are in memory only."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

from anabranch.deploy.openflow.connection import Connection, connect
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod
from anabranch.deploy.targets.ovs.daemons import OpenVSwitch
from support.needs import need_open_vswitch

T = TypeVar("T")
PATIENCE_S = 120.0
"""Deadline of what a switch must do: no measure of speed, only of never."""
BRIDGE = "br0"
PORTS = (1, 2, 3, 4)


@contextlib.contextmanager
def dummy_switch() -> Iterator[OpenVSwitch]:
    need_open_vswitch()
    # Not pytest's folder: a socket's path has 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ovs") as folder:
        switch = OpenVSwitch(Path(folder), dummy=True)
        switch.start()
        try:
            switch.vsctl("add-br", BRIDGE, "--", "set", "bridge", BRIDGE, "datapath_type=dummy", "fail_mode=secure")
            for port in PORTS:
                switch.vsctl("add-port", BRIDGE, f"p{port}", "--", "set", "interface", f"p{port}", "type=dummy")
            yield switch
        finally:
            switch.stop()


def ofctl(switch: OpenVSwitch, command: str, *arguments: str) -> str:
    return switch.ofctl(command, BRIDGE, *arguments, options=["--no-stats"])


@contextlib.asynccontextmanager
async def connected(address: str) -> AsyncIterator[Connection]:
    connection = await connect(address, timeout_s=PATIENCE_S)
    try:
        yield connection
    finally:
        connection.close()
        await connection.wait_closed()


async def empty(connection: Connection) -> None:
    """Removes everything."""
    await connection.commit(
        [
            *(FlowMod("delete", flow) for flow in await connection.flows()),
            *(GroupMod("delete", group) for group in await connection.groups()),
            *(MeterMod("delete", meter) for meter in await connection.meters()),
        ]
    )


def run_strictly(work: Callable[[], Awaitable[T]]) -> T:
    """Runs it to its end; anything that asyncio would only log is an error."""
    complaints: list[dict[str, object]] = []

    async def watched() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        return await work()

    result = asyncio.run(watched())
    assert not complaints, complaints
    return result
