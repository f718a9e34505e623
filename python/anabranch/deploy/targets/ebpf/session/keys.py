"""Keys of `[switch.NAME]` of a datapath in this machine's kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from anabranch import _core
from anabranch.deploy.control import gateway_keys, state_key
from anabranch.deploy.control.gateway_keys import Gateways
from anabranch.deploy.control.namespace_session import take_namespace
from anabranch.deploy.targets.ebpf.switch import FORBIDDEN
from anabranch.files.errors import AnabranchError
from anabranch.files.settings import Settings

PAUSE_S = {"flowlet": 500e-6, "flow_cycle": 0.1}
"""Defaults: LetFlow's gap at 10 Gbit/s (NSDI 2017); the silence after which a flow's turn is forgotten."""


@dataclass(frozen=True)
class DatapathKeys:
    """Program of a datapath, and where it is."""

    scheme: str
    """One of `_core.KERNEL_SCHEMES`."""
    pause_ns: int
    """The scheme's gap or pause."""
    namespace: str
    """The network namespace of its ports, as `ip netns` or a file names it; empty for the controller's own."""
    plain: bool = False
    """Weights are the factors of scores themselves; no file says so, a scenario may."""
    gateways: Gateways = field(default_factory=dict)
    """Neighbours that packets are routed to; none for a switch that redirects them."""
    state: str = ""
    """File that keeps its tables; empty for none."""


def read(settings: Settings, switch: str) -> DatapathKeys:
    """Takes the keys.

    Raises:
        AnabranchError: a key is not as it must be, or the BPF file system does not take the switch's name.

    """
    forbidden = set(switch) & set(FORBIDDEN)
    if forbidden:
        problem = f"{forbidden.pop()!r} in a name is not for the BPF file system, where its datapath is kept; rename it"
        raise AnabranchError(f"{settings.file}: {settings.path}: {problem}")
    scheme = settings.one_of("scheme", "slots", _core.KERNEL_SCHEMES, "Program that splits.")
    meaning = "Gap of `flowlet`, or silence after which `flow_cycle` forgets a flow's turn."
    default = '`flowlet`: `"500 us"`, `flow_cycle`: `"100 ms"`'
    pause_s = settings.duration_s("pause", PAUSE_S.get(scheme, 0.0), 0.0, 3600, meaning, otherwise=default)
    namespace, gateways = take_namespace(settings), gateway_keys.take(settings)
    state = state_key.take(settings)
    return DatapathKeys(scheme, round(1e9 * pause_s), namespace, gateways=gateways, state=state)
