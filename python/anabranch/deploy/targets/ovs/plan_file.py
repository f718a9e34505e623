"""`plan.toml`: which packets go over which ports in which shares, and in which switch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NoReturn

from anabranch.deploy.control.address import ADDRESS
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ovs import match
from anabranch.deploy.targets.ovs.match import Where, one_of, ports_of
from anabranch.deploy.targets.ovs.options import Options
from anabranch.deploy.targets.ovs.ownership import OWNERS, TABLES, Ownership
from anabranch.deploy.targets.ovs.recipes import SLOT_COUNTS
from anabranch.deploy.targets.ovs.split import RECIPES, SEED_MAX, SPLITS_MAX
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.form import PlanForm, plan_settings
from anabranch.deploy.targets.plan.group_keys import groups_of, refuse_missing
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import REQUIRED, Settings
from anabranch.files.toml_document import parse_toml

AUTO = "auto"
OWNER = 1
"""The controller's is 0 unless told otherwise; a plan under the same one would take its rules for leftovers."""
PRIORITY = 1000
PRIORITY_MAX = 65535 - 128
"""Rules for longer prefixes come first: the length of the destination's is added."""


@dataclass(frozen=True)
class WeightedPorts:
    """One `[[group]]`."""

    name: str
    where: tuple[Where, ...]
    """Packets that any of these describes."""
    ports: tuple[str | int, ...]
    """Names or OpenFlow numbers of paths, which count from 1 in this order; a bucket id is one less."""
    weights: tuple[str, ...]
    recipe: str
    """One of `split.RECIPES`, or `auto`."""
    error_pct: float
    """Error that `auto` must stay below."""
    error_given: bool
    """Whether the plan says so: then every recipe must."""
    seed: int | None
    slot_count: int | None
    """Slots of `multipath`; the fewest that stay below the error if it is not said."""
    priority: int


@dataclass(frozen=True)
class PlanFile:
    """A plan file for bridges as a value."""

    file: str
    ownership: Ownership
    bridge: str
    openflow: str
    ovsdb: str
    """Addresses as Open vSwitch writes them; empty where the file has none."""
    groups: tuple[WeightedPorts, ...]
    state: str = ""
    """File that keeps the splits; empty for none."""

    def port_names(self, group: WeightedPorts) -> list[str]:
        """Names of all the ports that a group names."""
        ports = [*group.ports, *(port for where in group.where for port in where.in_ports)]
        return [port for port in ports if isinstance(port, str)]

    def refuse(self, group: WeightedPorts, key: str, problem: str) -> NoReturn:
        """Says what is wrong with a group's key once the switch is known."""
        raise AnabranchError(f"{self.file}: group {group.name}: {key}: {problem}")


def read_with(plan: str, options: Options) -> PlanFile:
    """The plan, with the file of splits that the command line names; the bridge is found when it is observed.

    Raises:
        AnabranchError: as `parse`, or the file of splits could not be written.

    """
    if options.state:
        state_file.check(options.state)
    return replace(FORM.read(plan), state=options.state)


def parse(text: str, file: str) -> PlanFile:
    """Reads and checks the text of a plan; raises as `PlanForm.read`."""
    settings = plan_settings(parse_toml(text, file), file)
    meaning = (
        "Mark of the rules, groups and meters that belong to this plan. Plans of different owners share a bridge; what "
        "an owner has there and the plan does not have is removed. `anabranch control` has owner 0 by default."
    )
    owner = settings.integer("owner", OWNER, 0, OWNERS - 1, meaning)
    first = settings.integer(
        "table", 0, 0, TABLES - 1, "Table that packets enter. Slots of `multipath` stand in table 200."
    )
    meaning = "Priority of the rules. The prefix length of `ip_dst` is added, so that the longest prefix wins."
    priority = settings.integer("priority", PRIORITY, 1, PRIORITY_MAX, meaning)
    meaning = (
        "Seed of the hash; give another one to each switch. Left out, the switch's seed stays; at first it is the "
        "datapath id."
    )
    seed = group_keys.seed(settings, None, SEED_MAX, meaning, "kept")
    bridge, openflow, ovsdb = _switch(settings.table("switch"))
    groups = groups_of(settings, lambda table: _group(table, seed, priority), SPLITS_MAX)
    try:
        ownership = Ownership(owner, first)
    except AnabranchError as error:
        raise AnabranchError(f"{file}: {error}") from None
    return PlanFile(file, ownership, bridge, openflow, ovsdb, groups)


def _switch(settings: Settings) -> tuple[str, str, str]:
    """Bridge and addresses."""
    bridge = settings.text("bridge", "", "Bridge to change. `--bridge` overrides it.", otherwise='`"br0"`')
    meaning, default = "Address of the bridge's OpenFlow connection.", "`unix:/var/run/openvswitch/BRIDGE.mgmt`"
    openflow = settings.text("openflow", "", f"{meaning} `--openflow` overrides it.", otherwise=default, values=ADDRESS)
    meaning = "Address of the database, which is asked where the bridge listens and whether for OpenFlow 1.5."
    ovsdb = settings.text("ovsdb", "", f"{meaning} `--ovsdb` overrides it.", otherwise="none", values=ADDRESS)
    settings.end()
    return bridge, openflow, ovsdb


def _group(settings: Settings, seed: int | None, priority: int) -> WeightedPorts:
    name = group_keys.name_of(settings)
    where = match.read(settings)
    ports = ports_of(
        settings,
        "ports",
        "Port of each path. Paths count from 1 in this order; the bucket id in the switch is one less.",
        REQUIRED,
    )
    if not ports:
        refuse_missing(settings, "ports", 'give one per path, as in ports = ["uplink1", "uplink2"]')
    group_keys.refuse_twice(settings, "ports", ports)
    recipe = settings.one_of(
        "recipe", AUTO, (AUTO, *RECIPES), "How the switch is made to split so: [recipes](deploy.md#recipes)."
    )
    weighted = WeightedPorts(
        name=name,
        where=where,
        ports=ports,
        weights=_weights(settings, recipe, len(ports)),
        recipe=recipe,
        error_given="error" in settings,
        error_pct=group_keys.error_pct(
            settings, "`auto` stays below it, `multipath` by its number of slots; `verify` allows as much."
        ),
        slot_count=one_of(
            settings,
            "slots",
            SLOT_COUNTS,
            "give a power of two from 256 to 65536",
            "Number of slots of `multipath`.",
            "the fewest that stay below `error`",
        ),
        seed=group_keys.seed(settings, seed, SEED_MAX),
        priority=settings.integer(
            "priority", priority, 1, PRIORITY_MAX, "Priority of this group alone.", otherwise="`priority`"
        ),
    )
    settings.end()
    return weighted


def _weights(settings: Settings, recipe: str, paths: int) -> tuple[str, ...]:
    if recipe == "failover" and "weights" in settings:
        settings.refuse("weights", "given", "failover takes ports in order of preference; leave the weights out")
    return group_keys.weights(settings, paths)


EXAMPLE = """\
owner = 1
table = 0
priority = 1000
seed = 7

[switch]
bridge = "br0"
openflow = "ssl:192.0.2.1:6653"
ovsdb = "ssl:192.0.2.1:6640"

[[group]]
name = "leaf2"
match = [
    { ip_dst = ["10.0.2.0/24", "fd00:2::/64"], arp = true },
    { ip = 4, in_port = "host0", ip_src = "10.0.9.0/24", ip_dst = "10.0.3.0/24", tcp_dst = 443 },
]
ports = ["spine0", "spine1", 7]
weights = [4, 3, 2.5]
recipe = "multipath"
slots = 512
error = "1%"
seed = 8
priority = 2000

[[group]]
name = "management"
match = { ip = 4, ip_dscp = 16, vlan_vid = 5 }
ports = ["spine1", "spine0"]
recipe = "failover"
"""
FORM = PlanForm("Open vSwitch", "weighted groups and rules of a bridge; [how it works](deploy.md)", EXAMPLE, parse)
