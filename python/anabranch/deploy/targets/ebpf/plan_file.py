"""A plan for the kernel's datapath: which packets of which devices go by which members in which shares."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from ipaddress import ip_address

from anabranch.deploy.netlink.nexthop import Address, Hop
from anabranch.deploy.targets import state_file
from anabranch.deploy.targets.ebpf.options import Options
from anabranch.deploy.targets.ebpf.scheme import (
    COUNTED,
    INDEPENDENT,
    KERNEL_SCHEMES,
    SHARED,
    kernel_scheme,
    pausing,
    refusal,
)
from anabranch.deploy.targets.plan import group_keys
from anabranch.deploy.targets.plan.form import PlanForm, plan_settings
from anabranch.deploy.targets.plan.group import group
from anabranch.deploy.targets.plan.group_keys import Network, groups_of, refuse_missing, refuse_rivals
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings
from anabranch.files.toml_document import parse_toml
from anabranch.simulate.load_balancers import KernelProgram

NAME = "plan"
NAMES = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of a folder in the BPF file system, where dots are reserved."""
GROUP_NAME_BYTES = 64
MEMBERS_MAX = 64
GROUPS_MAX = 4096
"""The kernel half's (`crates/kernel/src/datapath.rs`)."""
SEED_MAX = 2**32 - 1
SCHEME = "weighted"
PAUSE_MAX_S = 3600.0
INGRESS, EGRESS, XDP = "ingress", "egress", "xdp"
HOOKS = (INGRESS, EGRESS, XDP)
REDIRECT, ROUTE = "redirect", "route"
LEAVING = (REDIRECT, ROUTE)
"""Outputs by which packets leave by a device."""
VALUES = {"dscp": (0, 63), "flow-label": (0, 2**20 - 1), "tunnel-port": (1, 65535)}
"""Fields that can be marked, with the least and the largest value of each (RFC 2474, RFC 6437, RFC 768)."""
ALL_IP = 'match = { ip_dst = ["0.0.0.0/0", "::/0"] }'


@dataclass(frozen=True)
class WeightedMembers:
    """One `[[group]]`."""

    name: str
    prefixes: tuple[Network, ...]
    """Destinations; none for all IP, in a plan of one group."""
    output: str
    """`redirect`, `route`, or the field that is marked."""
    ports: tuple[str, ...]
    """The devices that packets leave by, if they are not marked."""
    gateways: tuple[Address, ...]
    """The neighbour of each path, if packets are routed."""
    values: tuple[int, ...]
    """Values that the field takes, if one is marked."""
    weights: tuple[str, ...]
    seed: int | None
    pause_s: float
    """Longest pause within a flowlet, or silence after which a flow's counter is forgotten; 0 where neither counts."""
    error_pct: float
    error_given: bool

    @property
    def carrying(self) -> tuple[str, ...]:
        """Devices that have a weight above 0."""
        return tuple(port for port, weight in zip(self.ports, group(self.weights).integers, strict=False) if weight)

    @property
    def hops(self) -> tuple[Hop, ...]:
        """Device and gateway of each path, if packets are routed."""
        ways = zip(self.ports, self.gateways, strict=False)
        return tuple(Hop(gateway.version, port, gateway) for port, gateway in ways)

    @property
    def members(self) -> tuple[str, ...]:
        """Each as people call it."""
        return self.ports or tuple(f"{self.output} {value}" for value in self.values)


@dataclass(frozen=True)
class EbpfPlan:
    """A plan file for datapaths as a value."""

    file: str
    name: str
    """Name of the datapath; several stand side by side."""
    scheme: str
    counter: str
    devices: tuple[str, ...]
    """Devices whose packets these are; none if the command line must say, which a removal need not."""
    hook: str
    """`ingress`, `egress` or `xdp`."""
    groups: tuple[WeightedMembers, ...]
    state: str = ""
    """File that keeps the tables; none if empty."""

    @property
    def hops(self) -> tuple[Hop, ...]:
        """Device and gateway of all paths that packets are routed to."""
        return tuple(hop for one in self.groups for hop in one.hops)

    @property
    def kernel(self) -> KernelProgram:
        """How the scheme runs in the kernel."""
        return kernel_scheme(self.scheme, self.counter)


def read_with(plan: str, options: Options) -> EbpfPlan:
    """The plan, on the devices, at the hook and with the file of tables that the command line names before it.

    Raises:
        AnabranchError: as `parse`.

    """
    planned = FORM.read(plan)
    if options.hook and options.hook not in HOOKS:
        raise AnabranchError(f"hook: {options.hook}: unknown; use one of {', '.join(HOOKS)}")
    if options.state:
        state_file.check(options.state)
    if options.dev:
        planned = replace(planned, devices=tuple(dict.fromkeys(options.dev)))
    return checked(replace(planned, hook=options.hook or planned.hook, state=options.state))


def parse(text: str, file: str) -> EbpfPlan:
    """Reads and checks the text of a plan; raises as `PlanForm.read`."""
    settings = plan_settings(parse_toml(text, file), file)
    scheme, counter = _scheme(settings)
    meaning = (
        "Seed of the hash (wyhash32 of addresses, ports and protocol); give another one to each switch. Left out, the "
        "kernel's stays; at first it is made of the machine's id, `switch.name` and the group's name, all of which a "
        "reboot keeps."
    )
    seed = group_keys.seed(settings, None, SEED_MAX, meaning, "kept")
    switch = settings.table("switch")
    name, devices, hook = _switch(switch)
    switch.end()
    kernel = kernel_scheme(scheme, counter)
    groups = groups_of(settings, lambda table: _group(table, scheme, kernel, seed), GROUPS_MAX)
    for one in groups:
        if not one.prefixes and len(groups) > 1:
            hint = f"with several groups write {ALL_IP}; the longest prefix wins"
            raise AnabranchError(f"{file}: group {one.name}: match: no ip_dst; {hint}")
    taken = ((one.name, prefix, None) for one in groups for prefix in one.prefixes)
    refuse_rivals(file, taken, "leave it out of one of them")
    return checked(EbpfPlan(file, name, scheme, counter, devices, hook, groups))


def checked(plan: EbpfPlan) -> EbpfPlan:
    """The plan, once device and hook are those of the command line.

    Raises:
        AnabranchError: packets are marked at the hook xdp, which can only redirect, routed elsewhere than at ingress,
            or sent back where they come from.

    """
    for one in plan.groups:
        if plan.hook != INGRESS and one.output == ROUTE:
            problem = f"the hook {plan.hook} does not route: packets are routed as they enter; take ingress"
            raise AnabranchError(f"{plan.file}: group {one.name}: output: {one.output}: {problem}")
        if plan.hook == XDP and one.output != REDIRECT:
            problem = "the hook xdp redirects only; take ingress or egress"
            raise AnabranchError(f"{plan.file}: group {one.name}: output: {one.output}: {problem}")
        _refuse_own_input(plan, one)
    return plan


def _refuse_own_input(plan: EbpfPlan, one: WeightedMembers) -> None:
    """Raises an AnabranchError if packets of a group would leave by the device that they are taken from.

    A switch takes packets from all its devices, and sends those for one destination to some of them: that is no
    mistake as long as there is a device beside them, which the packets come from. What is redirected as it leaves
    meets the program of the other device, so that a device that is both is a circle, which the kernel ends by a drop.
    """
    both = [port for port in one.carrying if port in plan.devices]
    # A router may send a packet back by the device that it came from: to another neighbour.
    if one.output == ROUTE or not both or (plan.hook != EGRESS and {*plan.devices} - {*one.carrying}):
        return
    becomes = "would go in circles until the kernel drops them" if plan.hook == EGRESS else "would go back to it"
    raise AnabranchError(
        f"{plan.file}: group {one.name}: ports: {both[0]}: in switch.dev too (hook {plan.hook}): packets taken there "
        f"{becomes}; take it out of ports or out of switch.dev"
    )


def _scheme(settings: Settings) -> tuple[str, str]:
    meaning = "How packets are split: [schemes](deploy-ebpf.md#schemes)."
    scheme = settings.text("scheme", SCHEME, meaning, values="a name")
    if scheme not in KERNEL_SCHEMES:
        settings.refuse("scheme", scheme, refusal(scheme))
    given = "counter" in settings
    meaning = (
        f"Whose packets take turns under `{'`, `'.join(COUNTED)}`: all packets of a group together, on each processor "
        "by itself, or each flow's by itself."
    )
    counter = settings.one_of("counter", SHARED, (SHARED, INDEPENDENT), meaning)
    if given and scheme not in COUNTED:
        settings.refuse(
            "counter", counter, f"of scheme = {' or '.join(json.dumps(name) for name in COUNTED)} only; leave it out"
        )
    return scheme, counter


def _switch(settings: Settings) -> tuple[str, tuple[str, ...], str]:
    devices = tuple(
        settings.texts("dev", "Devices whose packets are split.", values="names of devices", otherwise="`--dev`")
    )
    if len(set(devices)) < len(devices):
        settings.refuse("dev", list(devices), "one is there twice; name it once")
    meaning = "Where packets are met: as they enter (tc), as they leave (tc), or in the driver."
    hook = settings.one_of("hook", INGRESS, HOOKS, meaning)
    meaning = "Name of the datapath. Datapaths of other names stand beside it, also on the same device."
    name = settings.text("name", NAME, meaning, values="at most 64 letters, digits, `_` and `-`")
    if not NAMES.fullmatch(name):
        settings.refuse("name", name, "give at most 64 letters, digits, _ and -")
    return name, devices, hook


def _group(settings: Settings, scheme: str, kernel: KernelProgram, seed: int | None) -> WeightedMembers:
    meaning = "The group's identity: counters and tables are kept by it when a plan is replaced."
    name = group_keys.name_of(settings, meaning, f"up to {GROUP_NAME_BYTES} bytes")
    if len(name.encode()) > GROUP_NAME_BYTES or "\0" in name:
        settings.refuse("name", name, f"give at most {GROUP_NAME_BYTES} bytes of text")
    hint = 'the kernel\'s datapath matches destinations only, as in match = { ip_dst = ["10.0.2.0/24"] }'
    meaning = "Destinations; the longest prefix wins. Without it, all IP, in a plan of one group."
    prefixes = group_keys.destinations(settings.table("match"), hint, meaning)
    meaning = "What is done with a packet: [outputs](deploy-ebpf.md#outputs)."
    output = settings.one_of("output", kernel.output or REDIRECT, (*LEAVING, *VALUES), meaning)
    if kernel.output and output != kernel.output:
        settings.refuse("output", output, f"{scheme} marks packets and lets switches send them; take {kernel.output}")
    ports, values = _ports(settings, output), _values(settings, output)
    count = len(ports) + len(values)
    if count > MEMBERS_MAX:
        settings.refuse("ports" if ports else "values", f"{count} of them", f"give at most {MEMBERS_MAX}")
    if kernel.pause_s is None and "pause" in settings:
        settings.refuse("pause", "given", f"{scheme} knows no pauses; leave it out")
    members = WeightedMembers(
        name=name,
        prefixes=prefixes,
        output=output,
        ports=ports,
        gateways=_gateways(settings, output, ports, prefixes),
        values=values,
        weights=_weights(settings, scheme, kernel, count),
        error_given="error" in settings,
        error_pct=group_keys.error_pct(settings, "The table of `weighted` stays below it."),
        pause_s=_pause_s(settings, kernel),
        seed=group_keys.seed(settings, seed, SEED_MAX),
    )
    settings.end()
    return members


def _ports(settings: Settings, output: str) -> tuple[str, ...]:
    meaning, otherwise = f"Device of each path, {MEMBERS_MAX} at most.", "required to redirect and to route"
    if output not in LEAVING:
        if given := group_keys.devices(settings, meaning, otherwise, needed=False):
            settings.refuse("ports", list(given), f"output {output} marks packets: give values instead")
        return ()
    devices = group_keys.devices(settings, meaning, otherwise)
    if output == REDIRECT:
        group_keys.refuse_twice(settings, "ports", devices)
    return devices


def _gateways(
    settings: Settings, output: str, ports: tuple[str, ...], prefixes: tuple[Network, ...]
) -> tuple[Address, ...]:
    meaning = "Neighbour of each path. IPv4 may have neighbours of IPv6 (RFC 8950)."
    given = settings.texts("gateways", meaning, values="addresses, one per path", otherwise="required to route")
    if output != ROUTE:
        if given:
            settings.refuse("gateways", given, f"output {output} routes nothing: leave them out, or take {ROUTE}")
        return ()
    if len(given) != len(ports):
        settings.refuse("gateways", given, f'give one per port, {len(ports)} of them, as in ["10.0.1.2", "10.0.2.2"]')
    gateways = [_gateway(settings, text) for text in given]
    v6 = [prefix for prefix in prefixes if prefix.version == 6]
    v4 = [gateway for gateway in gateways if gateway.version == 4]
    if v4 and (v6 or not prefixes):
        taken = f"{v6[0]}" if v6 else "all IP, which a group without match takes,"
        settings.refuse("gateways", str(v4[0]), f"{taken} has IPv6 packets, which have no neighbours of IPv4")
    group_keys.refuse_twice(settings, "gateways", list(zip(ports, given, strict=True)))
    return tuple(gateways)


def _gateway(settings: Settings, text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError:
        settings.refuse("gateways", text, "not an address; write 10.0.1.2 or fd00:1::2")


def _values(settings: Settings, output: str) -> tuple[int, ...]:
    def check(given: object) -> tuple[int, ...] | None:
        whole = isinstance(given, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in given)
        return tuple(given) if whole and isinstance(given, list) else None

    if output in LEAVING:
        if "values" in settings:
            settings.refuse("values", "given", f"output {output} marks nothing: give ports, or an output that marks")
        return ()
    least, most = VALUES[output]
    hint = f"give whole numbers from {least} to {most}, one per path, as in [10, 12]"
    none: tuple[int, ...] = ()
    meaning = "Value of the marked field for each path."
    values = settings.take("values", none, check, hint, meaning, otherwise="required to mark")
    if not values:
        refuse_missing(settings, "values", hint)
    for value in values:
        if not least <= value <= most:
            settings.refuse("values", value, hint)
    group_keys.refuse_twice(settings, "values", values)
    return values


def _pause_s(settings: Settings, kernel: KernelProgram) -> float:
    meaning = f"Gap between flowlets, or silence after which a flow's counter is forgotten: {', '.join(pausing())}."
    default_s, default = kernel.pause_s or 0.0, '`"500 us"`, `"100 ms"`'
    return settings.duration_s("pause", default_s, 1e-6, PAUSE_MAX_S, meaning, otherwise=default)


def _weights(settings: Settings, scheme: str, kernel: KernelProgram, members: int) -> tuple[str, ...]:
    if not kernel.weighted and "weights" in settings:
        settings.refuse("weights", "given", f"{scheme} splits equally; leave them out, or take another scheme")
    return group_keys.weights(settings, members)


EXAMPLE = """\
scheme = "dbb"
counter = "independent"
seed = 7

[switch]
dev = ["eth0"]
hook = "ingress"
name = "plan"

[[group]]
name = "leaf2"
match = { ip_dst = ["10.0.2.0/24", "fd00:2::/64"] }
ports = ["spine0", "spine1", "spine2"]
weights = [4, 3, 2]
pause = "200 ms"

[[group]]
name = "leaf3"
match = { ip_dst = ["10.0.3.0/24"] }
output = "dscp"
values = [10, 12]

[[group]]
name = "leaf4"
match = { ip_dst = ["10.0.4.0/24"] }
output = "route"
ports = ["eth1", "eth2"]
gateways = ["10.9.1.2", "10.9.2.2"]
"""
FORM = PlanForm("eBPF", "a program on a device; [how it works](deploy-ebpf.md)", EXAMPLE, parse)
