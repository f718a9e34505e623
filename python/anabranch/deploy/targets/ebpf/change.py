"""The fewest changes from the datapath that is observed to the one that is desired, without a moment in between."""

from __future__ import annotations

from collections.abc import Mapping

from anabranch.deploy.netlink.nexthop import Device, Hop
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ebpf import datapath, listing
from anabranch.deploy.targets.ebpf.datapath import OpenDatapath
from anabranch.deploy.targets.ebpf.desired import MISSING, Desired, desired
from anabranch.deploy.targets.ebpf.observe import Observed, observe
from anabranch.deploy.targets.ebpf.plan_file import EbpfPlan
from anabranch.deploy.targets.ebpf.state_form import FORM
from anabranch.deploy.targets.protocol import Change

NONE = "no datapath of that name"


def change(plan: EbpfPlan, observed: Observed, desired: Desired | None) -> Change:
    """The change from the datapath of a plan to the one that is desired, or to none."""
    if desired is None:
        lines = [f"- what is left of datapath {plan.name}"] if observed.remnant else _lines(plan, observed, None)
        return Change(lines, len(lines), NONE, lambda: datapath.remove(observed.folder))
    lines = _lines(plan, observed, desired)
    if not lines and not _is_kept(plan, observed.datapath):
        lines = [f"~+ tables of datapath {plan.name} in {plan.state}"]

    def commit() -> None:
        _put(plan, observed, desired)

    return Change(
        lines,
        sum(not line.startswith("~-") for line in lines),
        _summary(plan, desired),
        commit,
    )


def put(
    plan: EbpfPlan,
    devices: Mapping[str, Device],
    *,
    silent: frozenset[Hop] = frozenset(),
    before: OpenDatapath | None = None,
) -> tuple[Change, OpenDatapath | None]:
    """Has the kernel hold a plan for devices as they are; the change, and what stands then.

    Args:
        plan: what is desired.
        devices: by name.
        silent: routed ways whose gateway does not answer.
        before: what stood after the last time, if nobody else may have changed it since.

    Raises:
        AnabranchError: the kernel refuses, or somebody else has changed the datapath.

    """
    with observe(plan, writes=True, devices=devices, silent=silent, before=before) as observed:
        aimed = desired(plan, devices, observed.state, silent)
        changed = change(plan, observed, aimed)
        return changed, _put(plan, observed, aimed) if changed else observed.datapath


def _put(plan: EbpfPlan, observed: Observed, desired: Desired) -> OpenDatapath | None:
    tables = state_file.read(plan.state, FORM) if plan.state else {}
    changed = datapath.change(observed.folder, observed.datapath, desired, tables)
    if changed is not None and not _is_kept(plan, changed):
        state_file.write(plan.state, FORM, changed.datapath.tables())
    return changed


def _is_kept(plan: EbpfPlan, standing: OpenDatapath | None) -> bool:
    """Whether the file of tables, if there is one, has those of a datapath; one without tables has nothing to keep."""
    if not plan.state or standing is None:
        return True
    tables = standing.datapath.tables()
    return not tables or state_file.read(plan.state, FORM) == tables


def _summary(plan: EbpfPlan, desired: Desired) -> str:
    routes = sum(len(one.planned.prefixes) for one in desired.groups)
    return (
        f"datapath {plan.name} {desired.scheme} on {', '.join(plan.devices)} {plan.hook}, "
        f"{len(desired.groups)} groups, {f'{routes} routes' if routes else listing.ALL_IP}"
    )


def _lines(plan: EbpfPlan, observed: Observed, desired: Desired | None) -> list[str]:
    names = {one.index: one.name for one in observed.devices.values()}
    for one in desired.groups if desired is not None else ():
        for name, number in zip(one.planned.ports, one.kernel.targets, strict=False):
            names.setdefault(number, name if number != MISSING else "a missing device")
    return listing.lines(plan.name, observed.state, desired, names)
