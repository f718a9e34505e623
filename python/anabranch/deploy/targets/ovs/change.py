"""The fewest changes from what is observed to what is desired, in an order that is right at every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from anabranch.deploy.openflow.connection import Connection
from anabranch.deploy.openflow.modification import FlowMod, GroupMod, MeterMod, Mod
from anabranch.deploy.openflow.reference import groups_of_group
from anabranch.deploy.openflow.tables import Flow, Group, Meter, Tables
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ovs import listing
from anabranch.deploy.targets.ovs.kept import FORM
from anabranch.deploy.targets.ovs.observe import Observed, on_connection
from anabranch.deploy.targets.ovs.observed_splits import kept_splits
from anabranch.deploy.targets.ovs.others import refuse_harm
from anabranch.deploy.targets.ovs.plan_file import PlanFile
from anabranch.deploy.targets.protocol import Change

RULES_SHOWN = 8
"""Rules shown of one table and kind of change; the rest is counted."""


@dataclass(frozen=True)
class TablesChange:
    """Changes that turn one state of the tables into another; false if there are none."""

    installed: Tables
    mods: list[Mod]
    """Messages in order: what a rule or group leads to is there before it and goes after it."""

    @classmethod
    def between(cls, installed: Tables, desired: Tables) -> TablesChange:
        """The changes that take a bridge from `installed` to `desired`, both of one owner.

        A group that changes is written as a whole: before Open vSwitch 3.6, single buckets leave dp_hash's table as it
        was.
        """
        old_groups = {group.group_id: group for group in installed.groups}
        new_groups = {group.group_id: group for group in desired.groups}
        old_meters = {meter.meter_id: meter for meter in installed.meters}
        new_meters = {meter.meter_id: meter for meter in desired.meters}
        mods: list[Mod] = [
            MeterMod("modify" if meter.meter_id in old_meters else "add", meter)
            for meter in _by_id(desired.meters - installed.meters)
        ]
        mods += [
            GroupMod("modify" if group.group_id in old_groups else "add", group)
            for group in _led_to_first(desired.groups - installed.groups)
        ]
        # Keys are unique among installed rules, so a rule that replaces another is never an installed one.
        new_flows = desired.flows - installed.flows
        replaced = {flow.key for flow in new_flows}
        gone_flows = [flow for flow in installed.flows - desired.flows if flow.key not in replaced]
        mods += [FlowMod("delete", flow) for flow in _in_order(gone_flows)]
        mods += [FlowMod("add", flow) for flow in _in_order(new_flows)]
        gone = [group for group in installed.groups if group.group_id not in new_groups]
        mods += [GroupMod("delete", group) for group in reversed(_led_to_first(gone))]
        mods += [MeterMod("delete", meter) for meter in _by_id(installed.meters) if meter.meter_id not in new_meters]
        return cls(installed, mods)

    def __len__(self) -> int:
        return len(self.mods)

    def lines(self, port_names: Mapping[int, str] | None = None) -> list[str]:
        """A line per change, `+` new, `-` gone, `~-` was and `~+` is now, changed in place; of many rules a few."""
        names = port_names or {}
        flows = {flow.key: listing.flow(flow, names) for flow in self.installed.flows}
        groups = {group.group_id: listing.group(group, names) for group in self.installed.groups}
        meters = {meter.meter_id: listing.meter(meter) for meter in self.installed.meters}
        rows = []
        for (table, sign), kind in groupby(self.mods, _kind):
            mods = list(kind)
            left = len(mods) - RULES_SHOWN if table is not None and len(mods) > RULES_SHOWN + 1 else 0
            for mod in mods[: len(mods) - left]:
                match mod:
                    case FlowMod(flow=flow):
                        now, then = listing.flow(flow, names), flows.get(flow.key)
                    case GroupMod(group=group):
                        now, then = listing.group(group, names), groups.get(group.group_id)
                    case MeterMod(meter=meter):
                        now, then = listing.meter(meter), meters.get(meter.meter_id)
                rows += [f"{sign} {now}"] if sign == "-" or then is None else [f"~- {then}", f"~+ {now}"]
            if left:
                rows.append(f"{sign} {left} more rules of table {table}")
        return rows


def change(plan: PlanFile, observed: Observed, desired: Tables | None) -> Change:
    """The change of the owner's part of a bridge to `desired`, in one bundle; to nothing where that is None.

    The file of splits, if there is one, then has those of `desired`; of a plan that is removed it keeps them.

    Raises:
        AnabranchError: somebody else uses what would go, or the file of splits is none.

    """
    difference = TablesChange.between(observed.own, desired or Tables())
    refuse_harm(difference.mods, observed)
    lines, count = difference.lines(observed.names), len(difference.mods)
    splits = kept_splits(plan, desired, observed.ports) if plan.state and desired is not None else None
    if splits is not None and not lines and state_file.read(plan.state, FORM) != splits:
        lines, count = [f"~+ splits of owner {plan.ownership.owner} in {plan.state}"], 1

    async def modify(connection: Connection) -> None:
        await connection.commit(difference.mods)

    def commit() -> None:
        if difference:
            on_connection(observed.address, observed.tls, modify)
        if splits is not None:
            state_file.write(plan.state, FORM, splits)

    now = desired or Tables()
    return Change(lines, count, f"{len(now.groups)} groups, {len(now.flows)} rules", commit)


def _led_to_first(groups: Iterable[Group]) -> list[Group]:
    """Each group after those that it leads to, otherwise by number. Switches refuse circles."""
    left = {group.group_id: group for group in sorted(groups, key=lambda group: group.group_id)}
    ordered: list[Group] = []

    def take(group_id: int) -> None:
        group = left.pop(group_id, None)
        if group is not None:
            for next_id in sorted(groups_of_group(group)):
                take(next_id)
            ordered.append(group)

    for group_id in list(left):
        take(group_id)
    return ordered


def _in_order(flows: Iterable[Flow]) -> list[Flow]:
    """Inner tables first, so that rules lead to rules that are there."""
    return sorted(
        flows,
        key=lambda flow: (-flow.table, -flow.priority, [(*field[:2], field[2] or 0) for field in flow.match.fields]),
    )


def _by_id(meters: Iterable[Meter]) -> list[Meter]:
    return sorted(meters, key=lambda meter: meter.meter_id)


def _kind(mod: Mod) -> tuple[int | None, str]:
    """The table, of a rule, and the sign of what is done."""
    return mod.flow.table if isinstance(mod, FlowMod) else None, {"add": "+", "modify": "~+", "delete": "-"}[
        mod.command
    ]
