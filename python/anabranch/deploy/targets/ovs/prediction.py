"""Which rule, group, bucket and port a connection will take, from what stands in the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.openflow.action import ANY, Multipath, SetField, ToGroup
from anabranch.deploy.openflow.match import IPV4, IPV6, Match
from anabranch.deploy.openflow.tables import FAST_FAILOVER, SELECT, Bucket, Flow, Group, Tables
from anabranch.deploy.targets.ovs import listing
from anabranch.deploy.targets.ovs.headers import as_read, is_no_ip
from anabranch.deploy.targets.ovs.recipes import Switch
from anabranch.deploy.targets.ovs.selection import by_dp_hash, by_selection
from anabranch.deploy.targets.ovs.slots import SLOT, SPLIT
from anabranch.deploy.targets.ovs.symmetric_hash import symmetric_hash
from anabranch.deploy.targets.plan.captured import LATER_FRAGMENT, has, header_words
from anabranch.deploy.targets.plan.explanation import PORTED, described
from anabranch.deploy.targets.plan.group import Group as Paths
from anabranch.files.errors import AnabranchError

OTHER_RECIPE = 'give its [[group]] recipe = "dp_hash-twin" or "hash-gravity", which take any weights'
PATH = re.compile(r" \(path \d+\)$")


@dataclass(frozen=True)
class Predicted:
    """One connection's path through a bridge."""

    connection: str
    steps: list[tuple[str, str]]
    group_id: int | None
    """The group that the rule leads to; None where no rule of the plan takes the connection."""
    path: int | None
    """From 1, in the order of the plan's ports."""
    bucket_id: int | None
    """The switch's own number of the bucket, from 0."""
    port: int | None
    """None where it is dropped, left to others' rules, or not known."""
    outcome: str
    """Name of the port, or what becomes of it."""
    known: bool = True
    """Whether the connection as given tells where it goes."""

    @property
    def last(self) -> tuple[str, str]:
        """The port, for people."""
        return "port", self.outcome


class _NotKnownError(Exception):
    """The connection as given does not tell which bucket it takes; the message is the reason."""


class Predictor:
    """Prediction of the paths of connections, from tables and ports that are up or down."""

    def __init__(
        self,
        tables: Tables,
        table: int,
        up: Mapping[int, bool],
        names: Mapping[int, str],
        paths: Mapping[int, Sequence[int]],
    ) -> None:
        self._groups = {group.group_id: group for group in tables.groups}
        self._rules = sorted((flow for flow in tables.flows if flow.table == table), key=lambda flow: -flow.priority)
        self._slots = {
            (flow.table, flow.match.as_mapping[SPLIT][0], flow.match.as_mapping[SLOT][0]): flow
            for flow in tables.flows
            if SLOT in flow.match.as_mapping and SPLIT in flow.match.as_mapping
        }
        self._up = up
        self._names = names
        self._paths = paths
        """Ports of each group in the order of its paths."""

    def predict(self, tuples: npt.NDArray[np.void], in_port: int | None) -> list[Predicted]:
        """The path of each connection; `tuples` of dtype `FIVE_TUPLE` or `CAPTURED`, without VLAN and with DSCP 0.

        Raises:
            AnabranchError: a rule that asks for the port that packets come in by, where none is given; weights under
                dp_hash that Open vSwitch scores by what a 5-tuple does not tell.

        """
        return [self._one(tuples[row : row + 1], in_port) for row in range(len(tuples))]

    def _one(self, row: npt.NDArray[np.void], in_port: int | None) -> Predicted:
        name, steps = described(row[0]), list[tuple[str, str]]()
        if header_words(row[0]):
            steps.append(("read as", _read_as(row)))
        fields = _fields(row, in_port)
        rule = next((flow for flow in self._rules if _takes(flow.match, fields)), None)
        if rule is None:
            steps.append(("rule", "none of this plan"))
            return Predicted(name, steps, None, None, None, None, "others decide")
        steps += [("rule", listing.flow(rule, self._names).removeprefix("rule "))]
        try:
            match rule.actions:
                case (ToGroup(group_id),):
                    bucket = self._in_group(group_id, row, steps)
                case (Multipath() as hashed, SetField(field=field, value=group_id)) if field == SPLIT:
                    bucket = self._in_slot(hashed, rule, group_id, row, steps)
                case _:
                    raise AnabranchError(f"{listing.flow(rule, self._names)}: no rule of a plan; apply it anew")
        except _NotKnownError as error:
            outcome = f"not known {error}"
            return Predicted(name, steps, group_id, None, None, None, outcome, known=False)
        if bucket is None:
            outcome = "none, dropped: every bucket is dead"
            return Predicted(name, steps, group_id, None, None, None, outcome)
        ports = self._paths[group_id]
        path = ports.index(bucket.watch_port) + 1
        steps.append(("path", f"{path} of {len(ports)}, bucket {bucket.bucket_id}"))
        port = listing.port(bucket.watch_port, self._names)
        return Predicted(name, steps, group_id, path, bucket.bucket_id, bucket.watch_port, port)

    def _in_slot(
        self, hashed: Multipath, rule: Flow, group_id: int, row: npt.NDArray[np.void], steps: list[tuple[str, str]]
    ) -> Bucket | None:
        value = int(symmetric_hash(as_read(row), hashed.basis)[0])
        slot = value % hashed.slots
        steps.append((hashed.algorithm, f"0x{value:08x} (seed {hashed.basis})"))
        steps.append(("slot", f"{slot} of {hashed.slots}"))
        owner = self._slots.get((rule.goto or 0, group_id, slot))
        match None if owner is None else owner.actions:
            case (ToGroup(group_id=path),):
                return self._in_group(path, row, steps)
        raise AnabranchError(f"group 0x{group_id:x}: slot {slot} has no rule; apply the plan anew")

    def _in_group(self, group_id: int, row: npt.NDArray[np.void], steps: list[tuple[str, str]]) -> Bucket | None:
        group = self._groups.get(group_id)
        if group is None:
            raise AnabranchError(f"group 0x{group_id:x}: not in the bridge; apply the plan anew")
        steps.append(("group", f"0x{group_id:x} {group.kind}"))
        living = [self._lives(bucket) for bucket in group.buckets]
        if not any(living):
            return None
        if group.kind == FAST_FAILOVER:
            bucket = group.buckets[living.index(True)]
        else:
            bucket = self._selected(group, living, row, steps)
        match bucket.actions:
            case (ToGroup(group_id=further),):
                return self._in_group(further, row, steps)
        return bucket

    def _lives(self, bucket: Bucket) -> bool:
        if bucket.watch_group != ANY:
            group = self._groups.get(bucket.watch_group)
            return group is not None and any(self._lives(other) for other in group.buckets)
        return bucket.watch_port == ANY or self._up.get(bucket.watch_port, False)

    def _selected(
        self, group: Group, living: list[bool], row: npt.NDArray[np.void], steps: list[tuple[str, str]]
    ) -> Bucket:
        weights = tuple(str(bucket.weight) for bucket in group.buckets)
        paths = Paths(weights, tuple(living), None)
        ids = [bucket.bucket_id for bucket in group.buckets]
        selection = group.selection
        if group.kind != SELECT:
            raise AnabranchError(f"group 0x{group.group_id:x}: {group.kind}: no group of a plan; apply it anew")
        if selection is not None and selection.method == "hash":
            (chosen,) = by_selection(row, paths, Switch(parameter=selection.parameter), ids)
        else:
            parameter = 0 if selection is None else selection.parameter
            try:
                (chosen,) = by_dp_hash(row, paths, Switch(parameter=parameter), ids, selection is None, OTHER_RECIPE)
            except AnabranchError as error:
                raise AnabranchError(f"group 0x{group.group_id:x}: {error}") from None
        # These steps number buckets, not paths.
        steps += [(what, PATH.sub("", text)) for what, text in chosen.steps]
        if chosen.path is None:
            raise _NotKnownError(chosen.unknown)
        return group.buckets[chosen.path - 1]


def _read_as(row: npt.NDArray[np.void]) -> str:
    """What the switch reads of a packet with other headers around its 5-tuple, in words."""
    if is_no_ip(row)[0]:
        return "no IP: one VLAN tag is read (vlan-limit 1, the default), and no labels"
    read = as_read(row)[0]
    hidden = int(read["protocol"]) not in PORTED or has(row, LATER_FRAGMENT)[0]
    ports = "no ports" if hidden else f"ports {read['source_port']} and {read['destination_port']}"
    return f"protocol {read['protocol']}, {ports}"


def _fields(captured: npt.NDArray[np.void], in_port: int | None) -> dict[str, int | None]:
    """Values of all that a plan's rules match; None is what is not known."""
    if is_no_ip(captured)[0]:
        return {"in_port": in_port, "eth_type": 0}
    row = as_read(captured)[0]
    version = int(row["version"])
    length, family = (16, "ipv6") if version == 6 else (4, "ip")
    fields: dict[str, int | None] = {
        "in_port": in_port,
        "eth_type": IPV6 if version == 6 else IPV4,
        "vlan_vid": 0,
        "ip_dscp": 0,
        "ip_proto": int(row["protocol"]),
    }
    for end, name in (("source", "src"), ("destination", "dst")):
        fields[f"{family}_{name}"] = int.from_bytes(row[end][:length].tobytes(), "big")
        transport = PORTED.get(int(row["protocol"]))
        if transport is not None:
            fields[f"{transport}_{name}"] = int(row[f"{end}_port"])
    return fields


def _takes(match: Match, fields: Mapping[str, int | None]) -> bool:
    for name, value, mask in match.fields:
        if name not in fields:
            return False
        here = fields[name]
        if here is not None and (here ^ value) & (-1 if mask is None else mask):
            return False
    asked = [name for name, _, _ in match.fields if fields[name] is None]
    if asked:
        raise AnabranchError(f"{asked[0]}: a rule asks for it; give --{asked[0].replace('_', '-')}")
    return True
