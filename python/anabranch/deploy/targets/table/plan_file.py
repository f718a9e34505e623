"""`plan.toml` of a table: destinations, and the ports that share them by weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.form import PlanForm, plan_settings
from anabranch.deploy.targets.plan.group_keys import Network, groups_of, refuse_missing, refuse_rivals
from anabranch.deploy.targets.table.options import Options
from anabranch.deploy.targets.table.recipes import LABELS
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings
from anabranch.files.toml_document import parse_toml

AUTO = "auto"
OWNERS = 256
SEED_MAX = 2**32 - 1


@dataclass(frozen=True)
class WeightedPorts:
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Network, ...]
    """Destinations of its packets; none for all."""
    ports: tuple[str, ...]
    weights: tuple[str, ...]
    recipe: str
    """A technique with its number of entries, or `auto`: the first that stays below the error."""
    seed: int
    error_pct: float
    error_given: bool


@dataclass(frozen=True)
class TablePlan:
    """A plan file for tables as a value."""

    file: str
    owner: int
    folder: str
    groups: tuple[WeightedPorts, ...]


def read(path: str | Path, options: Options) -> TablePlan:
    """Reads and checks a plan; the folder of the command line goes before the plan's.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; it names them, with a hint.

    """
    plan = FORM.read(path)
    return replace(plan, folder=options.folder or plan.folder)


def parse(text: str, file: str) -> TablePlan:
    """Reads and checks the text of a plan; raises as `PlanForm.read`."""
    settings = plan_settings(parse_toml(text, file), file)
    meaning = "Mark of the groups that belong to this plan. Plans of different owners share a folder."
    owner = settings.integer("owner", 0, 0, OWNERS - 1, meaning)
    meaning = "Seed of the hash; give another one to each switch."
    seed = group_keys.seed(settings, 0, SEED_MAX, meaning, otherwise="")
    switch = settings.table("switch")
    meaning = "Folder of the JSON files. `--folder` overrides it."
    folder = switch.text("folder", "", meaning, otherwise="`--folder`", values="a folder")
    switch.end()
    groups = groups_of(settings, lambda table: _group(table, seed or 0))
    taken = ((one.name, prefix, None) for one in groups for prefix in one.prefixes)
    refuse_rivals(file, taken, "leave it out of one of them")
    return TablePlan(file, owner, folder, groups)


def folder_of(plan: TablePlan) -> Path:
    """The folder of a plan's table.

    Raises:
        AnabranchError: neither the plan nor the command line names one.

    """
    if not plan.folder:
        raise AnabranchError(f"{plan.file}: switch.folder: missing; name the table's folder, as in --folder tables")
    return Path(plan.folder)


def _group(settings: Settings, seed: int) -> WeightedPorts:
    name = group_keys.name_of(settings)
    match = settings.table("match")
    hint = "a table matches destinations only; write match = { ip_dst = [...] }"
    prefixes = group_keys.destinations(match, hint, "Destinations. Without it, all IP.")
    ports = tuple(settings.texts("ports", "Name of each path's port.", values="names of ports", otherwise=REQUIRED))
    if not ports:
        refuse_missing(settings, "ports", 'give one per path, as in ports = ["uplink1", "uplink2"]')
    group_keys.refuse_twice(settings, "ports", ports)
    weighted = WeightedPorts(
        name,
        prefixes,
        ports,
        group_keys.weights(settings, len(ports)),
        settings.one_of(
            "recipe",
            AUTO,
            (AUTO, *LABELS),
            "Technique and number of entries; `auto` is the first that stays below `error`.",
        ),
        group_keys.seed(settings, seed, SEED_MAX) or 0,
        group_keys.error_pct(settings, "`auto` stays below it."),
        "error" in settings,
    )
    settings.end()
    return weighted


EXAMPLE = """\
owner = 0
seed = 7

[switch]
folder = "tables"

[[group]]
name = "leaf2"
match = { ip_dst = ["10.0.2.0/24"] }
ports = ["uplink1", "uplink2"]
weights = [4, 3]
"""
FORM = PlanForm("Table", "groups as JSON files, for switches and hosts that read them", EXAMPLE, parse)
