"""The path that a datapath gives a connection, where its scheme decides by the connection alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from anabranch.deploy.netlink.nexthop import Device
from anabranch.deploy.targets.ebpf import datapath, plan_file
from anabranch.deploy.targets.ebpf.desired import Installed, desired
from anabranch.deploy.targets.ebpf.folder import own_folder
from anabranch.deploy.targets.ebpf.headers import as_read, is_no_ip, unknown
from anabranch.deploy.targets.ebpf.observe import observe
from anabranch.deploy.targets.ebpf.plan_file import ROUTE, EbpfPlan
from anabranch.deploy.targets.ebpf.scheme import PLAIN
from anabranch.deploy.targets.plan.captured import header_words, without_headers
from anabranch.deploy.targets.plan.explanation import Explanation, by_technique, described
from anabranch.deploy.targets.plan.group import Group, group
from anabranch.deploy.targets.plan.longest_prefix import takers
from anabranch.files.errors import AnabranchError
from anabranch.split.request import Choice
from anabranch.split.tuples import flow_keys

HASH = "wyhash32"
"""Makes the keys of connections in every program."""
TECHNIQUES = {
    "slots": Choice("min-move", (("slots", "4096"),)),
    "slots_large": Choice("min-move", (("slots", "65536"),)),
    "score": Choice("valo"),
    "rendezvous": Choice("log-rendezvous"),
}
"""The library's technique of each program that decides by the connection alone."""
PLAIN_SCORES = Choice("scoring-wide")
"""The technique of a program whose weights are factors of scores as they are."""
UNDECIDED = {
    "packet": "each packet is drawn for itself",
    "turn": "packets take turns",
    "flowlet": "each flowlet is drawn for itself",
    "flowcell": "each 64 KiB of a connection take the next path",
}
"""Why a connection does not tell its path, by the unit that a scheme decides for."""
FIRST, OBSERVED = "as first applied", "as it stands in this network namespace"
PASSES = "others decide"


@dataclass(frozen=True)
class Predicted:
    """The path of one connection by a plan's datapath."""

    connection: str
    steps: list[tuple[str, str]]
    group: str | None
    """The group that takes it, or `None` where none of the plan does."""
    path: int | None
    """From 1."""
    outcome: str
    """Device or mark of the path, or what becomes of it."""
    known: bool = True

    @property
    def last(self) -> tuple[str, str]:
        """The device or mark, for people."""
        return "port", self.outcome


@dataclass(frozen=True)
class Forwarding:
    """A datapath as it is once a plan is applied."""

    program: str
    groups: Mapping[str, tuple[Installed, Sequence[int]]]
    """Groups by name, with the member of each slot where a table stands already."""
    state: str


def explain(plan: str, tuples: npt.NDArray[np.void]) -> list[Predicted]:
    """The path of each connection once the plan is applied: to the datapath that stands, or to none.

    Raises:
        AnabranchError: no datapath of the plan can be read here, and the plan leaves the seed to it.

    """
    planned = plan_file.FORM.read(plan)
    forwarding = _observed(planned) or _fresh(planned)
    return [_one(planned, forwarding, tuples[row : row + 1]) for row in range(len(tuples))]


def explain_group(paths: Group, tuples: npt.NDArray[np.void]) -> list[Explanation]:
    """Chooses as the scheme `weighted` does with seed 0."""
    explanations = []
    explained = by_technique(without_headers(as_read(tuples)), paths, TECHNIQUES["slots"], HASH, 0)
    for index, one in enumerate(explained):
        row = tuples[index : index + 1]
        reason = "because a program sees no IP behind these headers" if is_no_ip(row)[0] else unknown(row)
        steps, path = ([], None) if reason else (one.steps, one.path)
        explanations.append(Explanation(described(row[0]), steps, path, unknown=reason))
    return explanations


def _observed(plan: EbpfPlan) -> Forwarding | None:
    """The plan put into the datapath of its name, if there is one that this process may read."""
    try:
        if not datapath.exists(own_folder() / plan.name):
            return None
        with observe(plan, writes=False) as observed:
            aimed = desired(plan, observed.devices, observed.state, observed.silent)
            tables: list[list[int]] = [[] for _ in aimed.groups]
            if observed.datapath is not None and datapath.fits(observed.datapath.state, aimed):
                tables = observed.datapath.datapath.slots(aimed.kernel_groups)
    except PermissionError:
        return None
    groups = {one.planned.name: (one, table) for one, table in zip(aimed.groups, tables, strict=True)}
    return Forwarding(aimed.scheme, groups, OBSERVED)


def _fresh(plan: EbpfPlan) -> Forwarding:
    """The plan where there is no datapath, and all devices live."""
    for one in plan.groups:
        if one.seed is None:
            raise AnabranchError(
                f"{plan.file}: group {one.name}: seed: missing, and each machine has its own; give one in the plan, or "
                "explain where it is applied"
            )
    names = dict.fromkeys(port for one in plan.groups for port in one.ports)
    devices = {name: Device(number, name, up=True, carrier=True) for number, name in enumerate(names, 1)}
    aimed = desired(plan, devices, None)
    return Forwarding(aimed.scheme, {one.planned.name: (one, []) for one in aimed.groups}, FIRST)


def _one(plan: EbpfPlan, forwarding: Forwarding, captured: npt.NDArray[np.void]) -> Predicted:
    name = described(captured[0])
    if is_no_ip(captured)[0]:
        return Predicted(name, [("read as", "no IP: it passes as if no program were there")], None, None, PASSES)
    if reason := unknown(captured):
        return Predicted(name, [], None, None, f"not known {reason}", known=False)
    taking = next(iter(takers(plan.groups, captured[0])), None)
    if taking is None:
        return Predicted(name, [("group", "none of this plan")], None, None, PASSES)
    installed, table = forwarding.groups[taking.name]
    steps = []
    read = without_headers(as_read(captured))
    if header_words(captured[0]):
        ports = f"ports {read[0]['source_port']} and {read[0]['destination_port']}"
        steps.append(("read as", f"protocol {read[0]['protocol']}, {ports if read[0]['source_port'] else 'no ports'}"))
    steps.append(("group", f"{taking.name}, {forwarding.program}, {forwarding.state}"))
    if not any(installed.asked):
        fate = "left to the kernel" if taking.output == ROUTE else "dropped"
        return Predicted(name, steps, taking.name, None, f"none, {fate}: every path is masked")
    if plan.kernel.unit in UNDECIDED:
        outcome = f"not known because {UNDECIDED[plan.kernel.unit]}"
        return Predicted(name, steps, taking.name, None, outcome, known=False)
    more, path = _picked(plan, forwarding.program, installed, table, read)
    members = taking.members
    steps += [*more, ("path", f"{path} of {len(members)}")]
    return Predicted(name, steps, taking.name, path, members[path - 1])


def _picked(
    plan: EbpfPlan, program: str, installed: Installed, table: Sequence[int], read: npt.NDArray[np.void]
) -> tuple[list[tuple[str, str]], int]:
    """The steps of the choice, and the path from 1."""
    seed = installed.kernel.seed
    if table:
        (key,) = flow_keys(read, HASH, seed)
        slot = int(key) % len(table)
        return [(HASH, f"0x{int(key):08x} (seed {seed})"), ("slot", f"{slot} of {len(table)}")], table[slot] + 1
    dead = [path for path, lives in enumerate(installed.up, 1) if not lives]
    choice = PLAIN_SCORES if plan.scheme == PLAIN else TECHNIQUES[program]
    (explanation,) = by_technique(read, group(installed.planned.weights, dead), choice, HASH, seed)
    assert explanation.path is not None
    return explanation.steps, explanation.path
