"""The kernel's counters of TCP in a namespace, and its settings (`sysctl`) there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from anabranch.deploy.netlink.namespace import inside
from anabranch.files.errors import AnabranchError

SYSCTL = re.compile(r"net(\.[a-z0-9_]+)+")

COUNTERS = {
    "Tcp": ("OutSegs", "RetransSegs", "OutRsts", "InErrs"),
    "TcpExt": (
        "TCPTimeouts",
        "TCPLossProbes",
        "TCPFastRetrans",
        "TCPSlowStartRetrans",
        "TCPLostRetransmit",
        "TCPSpuriousRTOs",
        "TCPSackRecovery",
        "TCPSACKReorder",
        "TCPTSReorder",
        "TCPDSACKRecv",
        "TCPOFOQueue",
        "TCPFullUndo",
        "TCPPartialUndo",
        "TCPDSACKUndo",
        "TCPRcvCollapsed",
        "ListenOverflows",
        "DelayedACKs",
    ),
}
"""Counters by their names in /proc/net/snmp and /proc/net/netstat; most are in Linux's networking/snmp_counter.rst."""

REPORTED = (
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_max_reordering",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_rto_min_us",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
)
"""Settings that a result states; those that a kernel lacks are left out. Congestion control is each socket's own, and
read there."""


def read(namespaces: Sequence[str]) -> dict[str, int]:
    """The counters, summed over namespaces."""
    total: dict[str, int] = {}
    for namespace in namespaces:
        with inside(namespace):
            for file in ("snmp", "netstat"):
                lines = Path(f"/proc/thread-self/net/{file}").read_text(encoding="ascii").splitlines()
                for names, values in zip(lines[::2], lines[1::2], strict=True):
                    group = names.partition(":")[0]
                    counted = dict(zip(names.split()[1:], map(int, values.split()[1:]), strict=True))
                    for name in COUNTERS.get(group, ()):
                        if name in counted:
                            total[name] = total.get(name, 0) + counted[name]
    return total


def settings(namespace: str) -> dict[str, str]:
    """The settings of TCP in a namespace that results depend on."""
    with inside(namespace):
        return {name: " ".join(_file(name).read_text().split()) for name in REPORTED if _file(name).exists()}


def congestion(names: set[str]) -> dict[str, str]:
    """The congestion control that senders ran, as a setting; several names if they differed."""
    return {"congestion_control": ", ".join(sorted(names))}


@contextmanager
def changed(namespaces: Sequence[str], sysctls: Mapping[str, str]) -> Iterator[None]:
    """Settings in every namespace, put back at the end.

    Raises:
        AnabranchError: one that the kernel does not have, or a value that it refuses.

    """
    before: list[tuple[str, Path, str]] = []
    try:
        for namespace in namespaces:
            with inside(namespace):
                for name, value in sysctls.items():
                    before.append((namespace, _file(name), _replace(name, value)))
        yield
    finally:
        for namespace, file, value in reversed(before):
            with inside(namespace):
                file.write_text(value)


def _replace(name: str, value: str) -> str:
    file = _file(name)
    try:
        old = file.read_text()
        file.write_text(value)
    except OSError as error:
        raise AnabranchError(f"sysctl {name} = {value}: {error.strerror}; `sysctl -a` lists them") from None
    return old


def _file(name: str) -> Path:
    if not SYSCTL.fullmatch(name):
        raise AnabranchError(f"sysctl {name}: not a name below net; give one such as net.ipv4.tcp_recovery")
    return Path("/proc/sys", *name.split("."))
