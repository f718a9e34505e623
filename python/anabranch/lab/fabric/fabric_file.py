"""The lab's fabric as a file for `anabranch control`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.lab.fabric.blueprint import Blueprint, scaled
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.switching import Switching
from anabranch.simulate.runs.literal import document, key_text

LINK_RATE = "10 Gbps"
"""Rate of a scenario's link where none is written (docs/scenario.md)."""


def fabric_file(record: Record, blueprint: Blueprint, switching: Switching) -> str:
    """Its text: the fabric with the lab's rates, where each switch is and its ports, and where hosts are.

    Raises:
        AnabranchError: the rates cannot be scaled.

    """
    tables: dict[str, dict[str, Any]] = {
        "fabric": scaled_fabric(record),
        "policy": switching.policy(),
        "listen": {"http": record.http},
        # The lab has laid its cables itself, and measures every packet on them.
        "wiring": {"use": False},
    }
    for switch in blueprint.switches:
        tables[f"switch.{key_text(switch)}"] = switching.switch_options(switch) | {"ports": _ports(blueprint, switch)}
    for switch in blueprint.switches:
        prefix = blueprint.prefix(switch)
        if prefix:
            tables[f"leaf.{key_text(switch)}"] = {"prefixes": [prefix]}
    for host in blueprint.hosts.values():
        tables[f"host.{key_text(host.name)}"] = {"addresses": [host.address]}
    return "\n".join(f"[{name}]\n{document(table)}" for name, table in tables.items())


def scaled_fabric(record: Record) -> dict[str, Any]:
    """`[fabric]` of the scenario with all its rates multiplied by the lab's scale.

    Raises:
        AnabranchError: the rates are in another file.

    """
    fabric = dict(parse_toml(record.scenario, record.scenario_file).get("fabric", {}))
    if "file" in fabric:
        fabric["file"] = str(Path(record.scenario_file).parent / fabric["file"])
        if record.scale != 1:
            raise AnabranchError(f"scale: {fabric['file']}: the rates of a GraphML file are scaled there")
    if record.scale == 1:
        return fabric
    fabric["link"] = {"rate": LINK_RATE} | fabric.get("link", {})
    return {key: _scaled(value, record.scale) for key, value in fabric.items()}


def _scaled(value: Any, scale: float) -> Any:
    if isinstance(value, Mapping):
        return {
            key: f"{scaled(_bps(item), scale)} bps" if key == "rate" else _scaled(item, scale)
            for key, item in value.items()
        }
    return [_scaled(item, scale) for item in value] if isinstance(value, list) else value


def _bps(rate: str) -> int:
    """A rate as the reader of scenarios understands it."""
    text = f'[fabric]\nlink = {{ rate = "{rate}" }}\n'
    return int(_core.Fabric(text, "rate").topology()["ports"]["rate_bps"][0])


def _ports(blueprint: Blueprint, switch: str) -> dict[str, Any]:
    ports: dict[str, list[str]] = {}
    for end, neighbour in blueprint.ports(switch):
        ports.setdefault(neighbour, []).append(end.device)
    return {neighbour: devices[0] if len(devices) == 1 else devices for neighbour, devices in ports.items()}
