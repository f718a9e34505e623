"""Keys of `[switch.NAME]` of a bridge: where it is reached, or how it is known when it comes to us."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.deploy.control import state_key
from anabranch.deploy.control.address import take_address
from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

DATAPATH_IDS = 1 << 64


@dataclass(frozen=True)
class BridgeKeys:
    """Addresses of one bridge."""

    openflow: str
    """`unix:PATH`, `tcp:HOST:PORT` or `ssl:HOST:PORT`; empty if it comes to us."""
    ovsdb: str
    """The same of its database; empty if there is none to ask."""
    datapath_id: int | None
    state: str = ""
    """File that keeps its splits; empty for none."""


def read(settings: Settings) -> BridgeKeys:
    """Takes the keys.

    Raises:
        AnabranchError: a key is not as it must be.

    """
    return BridgeKeys(
        openflow=take_address(
            settings, "openflow", "Address of the bridge. Left out, the bridge connects to `listen.openflow`."
        ),
        ovsdb=take_address(settings, "ovsdb", "Address of its database. Bridges may share one."),
        datapath_id=settings.take(
            "datapath_id",
            None,
            _datapath_id,
            'give 16 hexadecimal digits in quotes: "00..01"',
            "Datapath id; required if the switch connects to us, checked in any case.",
            otherwise="none",
        ),
        state=state_key.take(settings),
    )


def check(fabric: FabricFile, bridges: list[SwitchFile]) -> None:
    """Checks what no key says by itself.

    Raises:
        AnabranchError: a bridge can neither be reached nor be known, two are one, or TLS has no keys.

    """
    file, keys = fabric.file, {bridge.name: bridge.keys for bridge in bridges}
    for name, one in keys.items():
        if not one.openflow and not fabric.openflow:
            hint = 'give where it is reached, as in openflow = "tcp:10.0.0.1:6653", or let it come to listen.openflow'
            raise AnabranchError(f"{file}: switch.{name}.openflow: missing; {hint}")
        if not one.openflow and one.datapath_id is None:
            hint = "give it as ovs-vsctl get bridge NAME datapath_id prints it"
            raise AnabranchError(f"{file}: switch.{name}.datapath_id: missing, and the switch comes to us; {hint}")
    identities: dict[object, str] = {}
    for name, one in keys.items():
        for key, value in (("openflow", one.openflow or None), ("datapath_id", one.datapath_id)):
            other = identities.setdefault((key, value), name) if value is not None else name
            if other != name:
                raise AnabranchError(f"{file}: switch.{name}.{key}: {value}: {other} has it; each has its own")
    addresses = [fabric.openflow, *(one.openflow for one in keys.values()), *(one.ovsdb for one in keys.values())]
    for address in addresses:
        if address.startswith("ssl:") and fabric.tls is None:
            raise AnabranchError(f"{file}: tls: missing, and {address} needs it; give key, certificate and authority")


def _datapath_id(given: object) -> int | None:
    try:
        number = int(given, 16) if isinstance(given, str) else -1
    except ValueError:
        return None
    return number if 0 <= number < DATAPATH_IDS else None
