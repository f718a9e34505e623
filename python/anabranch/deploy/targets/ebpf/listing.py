"""Differences between a datapath and what it should be, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anabranch._core import KernelGroup
from anabranch.deploy.targets.ebpf.datapath import DatapathState, fits
from anabranch.deploy.targets.ebpf.desired import Desired
from anabranch.deploy.targets.ebpf.plan_file import LEAVING

ALL_IP = "all IP"


def lines(name: str, observed: DatapathState | None, desired: Desired | None, devices: Mapping[int, str]) -> list[str]:
    """Lines for people: `+` new, `-` gone, `~-` was and `~+` is now.

    Args:
        name: of the datapath.
        observed: what is there; None for nothing.
        desired: what shall be; None for nothing.
        devices: names by number.

    """
    rows = []
    if observed is None and desired is not None:
        rows.append(f"+ {_datapath(name, desired)}")
    elif observed is not None and desired is None:
        rows.append(f"- {_datapath(name, observed)}")
    elif observed is not None and desired is not None and not fits(observed, desired):
        rows += [f"~- {_datapath(name, observed)}", f"~+ {_datapath(name, desired)}"]
    old = {one.name: group(one, devices) for one in observed.groups} if observed is not None else {}
    new = {one.name: group(one, devices) for one in desired.kernel_groups} if desired is not None else {}
    for key, text in new.items():
        if key not in old:
            rows.append(f"+ {text}")
        elif old[key] != text:
            rows += [f"~- {old[key]}", f"~+ {text}"]
    rows += [f"- {text}" for key, text in old.items() if key not in new]
    before = observed.attached if observed is not None else frozenset()
    after = desired.attached if desired is not None else ()
    rows += [f"+ {text}" for text in _attached([one for one in after if one not in before], devices)]
    return rows + [f"- {text}" for text in _attached(sorted(before - {*after}), devices)]


def group(one: KernelGroup, devices: Mapping[int, str]) -> str:
    """`group leaf2 10.0.2.0/24 -> redirect seed=7: eth1 weight=4, eth2 weight=3 down`."""
    text = f"group {one.name} {','.join(sorted(one.prefixes)) or ALL_IP} -> {one.output} seed={one.seed}"
    if one.pause_ns:
        text += f" pause={one.pause_ns / 1e3:g}us"
    members = []
    vias = [f" via {gateway}" for gateway in one.gateways] or [""] * len(one.targets)
    for target, via, weight, up in zip(one.targets, vias, one.weights, one.up, strict=True):
        named = devices.get(target, f"device {target}") if one.output in LEAVING else str(target)
        members.append(f"{named}{via} weight={weight}{' down' if weight and not up else ''}")
    return f"{text}: {', '.join(members)}"


def _datapath(name: str, one: DatapathState | Desired) -> str:
    routes = f"{one.route_capacity} routes" if one.route_capacity else ALL_IP
    return f"datapath {name} {one.scheme}, room for {one.group_capacity} groups, {routes}"


def _attached(attachments: Iterable[tuple[int, str]], devices: Mapping[int, str]) -> list[str]:
    return [f"attached to {devices.get(index, f'device {index}')} {hook}" for index, hook in attachments]
