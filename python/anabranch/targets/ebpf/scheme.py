"""Which program of the kernel's datapath a load balancer runs as, or why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from anabranch import _core
from anabranch.hints import nearest
from anabranch.load_balancers import KernelProgram, LoadBalancer, schemes

SHARED, INDEPENDENT = "shared", "independent"
"""Whether all packets of a group are counted together, on each processor by itself, or each flow's by itself."""
GIVEN = tuple(_core.KERNEL_GIVES)
"""Capabilities that a program of the target `ebpf` has."""
LACKED = {
    "backlog": "how much waits at each queue",
    "timer": "a timer of its own",
    "probes": "probes that travel the fabric and come back",
    "feedback": "news of what became of packets sent earlier",
}
"""In words for people."""


PLAIN = "scoring"
"""The scheme whose weights are factors of scores as they are."""

KERNEL_SCHEMES: Mapping[str, KernelProgram] = MappingProxyType(
    {balancer.name: balancer.runs.kernel for balancer in schemes() if balancer.runs.kernel is not None}
    | {"log-rendezvous": KernelProgram(("rendezvous",), "flow")}
)
"""Programs by the names of `anabranch schemes`, and the one of a technique that is no load balancer there."""
_VARIANTS = {balancer.name: balancer.runs.kernel_variant for balancer in schemes()}
COUNTED = tuple(name for name, variant in _VARIANTS.items() if variant is not None and variant[0] == "counter")
"""Load balancers whose `counter` chooses the program."""


def kernel_scheme(name: str, counter: str = SHARED) -> KernelProgram:
    """How a scheme runs in the kernel.

    Args:
        name: one of `KERNEL_SCHEMES`.
        counter: of `dbb`.

    """
    variant = _VARIANTS.get(name)
    return variant[2] if variant is not None and variant[:2] == ("counter", counter) else KERNEL_SCHEMES[name]


def program_names(name: str) -> str:
    """Its programs for people, as in `slots, slots_large`; empty if it has none."""
    if name not in KERNEL_SCHEMES:
        return ""
    variant = _VARIANTS.get(name)
    return ", ".join((*KERNEL_SCHEMES[name].programs, *(() if variant is None else variant[2].programs)))


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
