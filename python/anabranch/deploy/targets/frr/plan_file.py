"""A plan for a router that runs FRR: which destinations go over which devices, by which announced bandwidths."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.deploy.targets.frr.bandwidth import MBPS_MAX, predicted
from anabranch.deploy.targets.frr.fabric import Routers
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.form import PlanForm, plan_settings
from anabranch.deploy.targets.plan.group_keys import Network, groups_of, refuse_missing, refuse_rivals
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings, whole
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.runs.literal import literal


@dataclass(frozen=True)
class AnnouncedPaths:
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Network, ...]
    ports: tuple[str, ...]
    """Device of each path."""
    mbps: tuple[int, ...]
    """Bandwidth that is announced there; 0 for none."""
    error_pct: float
    error_given: bool

    @property
    def installed(self) -> dict[str, int]:
        """Weights that FRR makes of the bandwidths, by the devices that carry something."""
        return {port: weight for port, weight in zip(self.ports, predicted(self.mbps), strict=True) if weight}


@dataclass(frozen=True)
class RouterPlan:
    """A plan file for a router as a value."""

    file: str
    groups: tuple[AnnouncedPaths, ...]


def parse(text: str, file: str) -> RouterPlan:
    """Reads and checks the text of a plan; raises as `PlanForm.read`."""
    groups = groups_of(plan_settings(parse_toml(text, file), file), _group)
    taken = ((one.name, prefix, None) for one in groups for prefix in one.prefixes)
    refuse_rivals(file, taken, "leave it out of one of them")
    return RouterPlan(file, groups)


def plan_text(router: str, routers: Routers) -> str:
    """The text of the plan of one router of a fabric: its groups of two paths or more, and those of one."""
    lines = [
        f"# Router {router}: the bandwidths that its neighbours announce.",
        f"# `anabranch verify {router}/plan.toml --target frr` compares FRR and the kernel with it.",
    ]
    for group in routers.groups[router]:
        lines += [
            "",
            "[[group]]",
            f"name = {literal(group.leaf)}",
            f"match = {{ ip_dst = {literal([str(network) for network in routers.networks[group.leaf]])} }}",
            f"ports = {literal([routers.device[end] for end in group.ends])}",
            f"weights = {literal(list(group.mbps))}",
        ]
    return "".join(f"{line}\n" for line in lines)


def _group(settings: Settings) -> AnnouncedPaths:
    name = group_keys.name_of(settings)
    hint = "a route matches destinations only; write match = { ip_dst = [...] }"
    prefixes = group_keys.destinations(settings.table("match"), hint, "Destinations.", REQUIRED)
    if not prefixes:
        raise AnabranchError(f"{settings.file}: {settings.path}.match.ip_dst: missing; {hint}")
    ports = group_keys.devices(settings, "Network device of each path.")
    group_keys.refuse_twice(settings, "ports", ports)
    announced = AnnouncedPaths(
        name,
        prefixes,
        ports,
        _mbps(settings, len(ports)),
        group_keys.error_pct(settings, "The plan is judged by what FRR makes of the bandwidths."),
        "error" in settings,
    )
    settings.end()
    return announced


def _mbps(settings: Settings, paths: int) -> tuple[int, ...]:
    def check(given: object) -> tuple[int, ...] | None:
        listed = [whole(one, 0, MBPS_MAX) for one in given] if isinstance(given, list) else []
        mbps = tuple(one for one in listed if one is not None)
        return mbps if len(mbps) == len(listed) == paths and any(mbps) else None

    meaning = "Bandwidth in Mbit/s that the neighbour behind each device announces; 0 where it announces nothing."
    mbps: tuple[int, ...] | None = settings.take(
        "weights",
        None,
        check,
        f"give a whole number from 0 to {MBPS_MAX} per path, {paths} of them, not all 0",
        meaning,
        otherwise=REQUIRED,
        values=f"whole numbers from 0 to {MBPS_MAX}, one per path, not all 0",
    )
    return mbps or refuse_missing(settings, "weights", "give the bandwidths, as in weights = [10000, 7500, 5000]")


EXAMPLE = """\
[[group]]
name = "leaf1"
match = { ip_dst = ["10.1.1.0/24", "fd00:2::/64"] }
ports = ["eth1", "eth2", "eth3"]
weights = [10000, 7500, 5000]
"""
FORM = PlanForm("FRR", "routes of a router, compared and never changed; [how it works](deploy-frr.md)", EXAMPLE, parse)
