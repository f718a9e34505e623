"""Keys of `[switch.NAME]` of a Linux kernel that routes, and what they must have in common with the fabric."""

from __future__ import annotations

from dataclasses import dataclass

from anabranch.deploy.control import gateway_keys
from anabranch.deploy.control.address import take_address
from anabranch.deploy.control.fabric import FabricFile, SwitchFile
from anabranch.deploy.control.gateway_keys import VERSIONS, Gateways
from anabranch.deploy.control.namespace_session import take_namespace
from anabranch.deploy.control.topology import End
from anabranch.deploy.netlink.nexthop import MPATH, RESILIENT, Hop
from anabranch.deploy.openflow.address import TCP, is_loopback
from anabranch.deploy.targets.linux.plan_file import RECIPES, GroupKeys, take_group_keys
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

BUCKETS = 1024
"""The error is 0.1 % of the whole at most: 32 paths are 3 % off their weights, 4 paths 0.4 %."""


@dataclass(frozen=True)
class RoutesKeys:
    """Where a kernel's routes are, by which gateways they lead, and how they are made."""

    namespace: str
    """The network namespace of its ports, as `ip netns` or a file names it; empty for the controller's own."""
    agent: str
    """Address of the agent on its machine; empty for none, where it is the controller's machine."""
    gateways: Gateways
    group: GroupKeys
    """Keys of a group that the plan of a kernel has too."""


def read(settings: Settings) -> RoutesKeys:
    """Takes the keys.

    Raises:
        AnabranchError: a key is not as it must be.

    """
    gateways = gateway_keys.take(settings)
    meaning = "Keys of its nexthop groups and routes, as those of a [plan file](plan-file.md#linux)."
    group = settings.table("group", meaning)
    recipe = group.one_of("recipe", RESILIENT, (RESILIENT, MPATH), RECIPES)
    more = "One number for all weights that may come: another number is another group, and moves connections."
    namespace, agent = take_namespace(settings), _agent(settings)
    if namespace and agent:
        settings.refuse("namespace", namespace, "the agent is in the namespace; leave out one of the two")
    keys = RoutesKeys(namespace, agent, gateways, take_group_keys(group, VERSIONS[0], recipe, BUCKETS, more))
    group.end()
    return keys


def _agent(settings: Settings) -> str:
    meaning = (
        "Address of the [agent](control.md#a-kernel-of-another-machine) on the switch's machine; `tcp:` at loopback "
        "only. Left out, the kernel is of the controller's machine."
    )
    address = take_address(settings, "agent", meaning)
    kind, _, rest = address.partition(":")
    if kind == TCP and not is_loopback(rest.rpartition(":")[0]):
        settings.refuse("agent", address, f"not the controller's machine; take ssl:{rest}")
    return address


def check(fabric: FabricFile, switch: SwitchFile) -> None:
    """Checks that there is a gateway on each link to a switch, for each IP version, and what its agent needs.

    Raises:
        AnabranchError: one is missing, or there are others; an agent is another switch's, or TLS has no keys.

    """
    keys: RoutesKeys = switch.keys
    _check_agent(fabric, switch.name, keys.agent)
    gateway_keys.check(fabric, switch, keys.gateways)


def _check_agent(fabric: FabricFile, name: str, agent: str) -> None:
    key = f"{fabric.file}: switch.{name}.agent: {agent}"
    if agent.startswith("ssl:") and fabric.tls is None:
        raise AnabranchError(f"{key}: it needs [tls]; give key, certificate and authority")
    for other in fabric.switches_of("linux"):
        if agent and other.name != name and other.keys.agent == agent:
            raise AnabranchError(f"{key}: {other.name} has it; each has its own")


def hop(switch: SwitchFile, end: End, version: int) -> Hop:
    """The hop by which packets of an IP version leave a port."""
    keys: RoutesKeys = switch.keys
    return gateway_keys.hop(switch, keys.gateways, end, version)
