"""Which program of the kernel's datapath a load balancer runs as, or why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from anabranch.hints import nearest
from anabranch.load_balancers import LoadBalancer, schemes

SHARED, INDEPENDENT = "shared", "independent"
"""Whether all packets of a group are counted together, on each processor by itself, or each flow's by itself."""
GAP_S = 500e-6
"""Of a flowlet: LetFlow's, at 10 Gbit/s (NSDI 2017)."""
IDLE_S = 0.1
"""Silence after which a flow's counter is forgotten; as in scenarios."""
GIVEN = ("clock", "random", "tag")
"""What a program in the kernel's datapath has (`anabranch_split::capability::KERNEL`)."""
LACKED = {
    "backlog": "how much waits at each queue",
    "timer": "a timer of its own",
    "probes": "probes that travel the fabric and come back",
    "feedback": "news of what became of packets sent earlier",
}
"""In words for people."""


@dataclass(frozen=True)
class KernelScheme:
    """How a load balancer runs there."""

    programs: tuple[str, ...]
    """As `_core.KERNEL_SCHEMES` names them; of several, the first whose split is near enough."""
    unit: str
    """What goes where it goes by itself: `flow`, `flowlet`, `flowcell`, `packet` (at random) or `turn`."""
    weighted: bool = True
    pause_s: float | None = None
    """The default of `pause`; None where it means nothing."""
    output: str = ""
    """The only output that the scheme has; empty if it has them all."""


SLOTS = ("slots", "slots_large")
PLAIN = "scoring"
"""The scheme whose weights are factors of scores as they are."""

KERNEL_SCHEMES: Mapping[str, KernelScheme] = MappingProxyType(
    {
        "weighted": KernelScheme(SLOTS, "flow"),
        "ecmp": KernelScheme(SLOTS, "flow", weighted=False),
        "random": KernelScheme(("score",), "flow", weighted=False),
        "valo": KernelScheme(("score",), "flow"),
        PLAIN: KernelScheme(("score",), "flow"),
        "log-rendezvous": KernelScheme(("rendezvous",), "flow"),
        "letflow": KernelScheme(("flowlet",), "flowlet", pause_s=GAP_S),
        "presto": KernelScheme(("presto",), "flowcell", weighted=False),
        "weighted-presto": KernelScheme(("presto",), "flowcell"),
        "spray": KernelScheme(("spray",), "packet"),
        "weighted-spray": KernelScheme(("cycle",), "turn"),
        "dbb": KernelScheme(("cycle",), "turn"),
        "wino": KernelScheme(("flow_cycle",), "turn", pause_s=IDLE_S, output="dscp"),
    }
)
"""By the names of `anabranch schemes`."""
DBB = "dbb"
DBB_INDEPENDENT = KernelScheme(("flow_cycle",), "turn", pause_s=IDLE_S)


def kernel_scheme(name: str, counter: str = SHARED) -> KernelScheme:
    """How a scheme runs in the kernel.

    Args:
        name: one of `KERNEL_SCHEMES`.
        counter: of `dbb`.

    """
    return DBB_INDEPENDENT if name == DBB and counter == INDEPENDENT else KERNEL_SCHEMES[name]


def program_names(name: str) -> str:
    """Its programs for people, as in `slots, slots_large`; empty if it has none."""
    if name not in KERNEL_SCHEMES:
        return ""
    found = [*KERNEL_SCHEMES[name].programs, *(DBB_INDEPENDENT.programs if name == DBB else ())]
    return ", ".join(found)


def why_not(balancer: LoadBalancer) -> str:
    """Why a load balancer does not run in the kernel; empty if it does."""
    if balancer.name in KERNEL_SCHEMES:
        return ""
    lacking = [need for need in balancer.needs if need not in GIVEN]
    if lacking:
        words = " and ".join(f"{need} ({LACKED[need]})" for need in lacking)
        return f"it needs {words}, which a program in the kernel's datapath is not given"
    if not balancer.fits_kernel:
        return "it is decided beforehand, by who knows all traffic to come"
    return "all it needs is there, but no program of it has been written"


def refusal(name: str) -> str:
    """The problem with a scheme that is not one of `KERNEL_SCHEMES`, and a hint."""
    known = {balancer.name: balancer for balancer in schemes()}
    if name not in known:
        return f"unknown; {nearest(name, KERNEL_SCHEMES)}"
    return f"{why_not(known[name])}; there run {', '.join(KERNEL_SCHEMES)}"
