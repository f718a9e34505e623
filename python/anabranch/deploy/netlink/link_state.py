"""Whether the devices of a plan can carry packets, and why not."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.deploy.netlink.nexthop import Device
from anabranch.files.hints import nearest


def lives(device: Device) -> bool:
    """Whether packets that are sent there can arrive."""
    return device.up and device.carrier


def unusable(paths: Mapping[str, str], devices: Mapping[str, Device]) -> str:
    """Explains which paths cannot be used, and why; a missing device counts as one that is down.

    Args:
        paths: name of the device of each dead path, by the name of the path.
        devices: all devices, by name.

    """
    present = [path for path, name in paths.items() if name in devices]
    missing = [f"{path} ({nearest(name, devices)})" for path, name in paths.items() if name not in devices]
    parts = [f"without a carrier: {', '.join(present)}"] if present else []
    parts += [f"without a device: {', '.join(missing)}"] if missing else []
    return " and ".join(parts)
