"""What a service takes of its machine; targets, kinds of switches and verbs say it, units grant it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Needs:
    """Rights and surroundings of a service. Those of two join by `|`."""

    capabilities: frozenset[str] = frozenset()
    """Capabilities by their names in capabilities(7)."""
    families: frozenset[str] = frozenset({"AF_UNIX"})
    """Families of sockets."""
    calls: frozenset[str] = frozenset()
    """System calls and their sets, beyond `@system-service` without `@privileged` and `@resources`."""
    writes: frozenset[str] = frozenset()
    """Files and folders that are written."""
    after: frozenset[str] = frozenset()
    """Units that start before it, where the machine has them."""
    as_root: bool = False
    """Whether what it uses belongs to root, who needs no capability for that."""
    enters: bool = False
    """Whether it enters other network namespaces."""
    realtime: bool = False
    """Whether it goes before others when it has something to do."""

    def __or__(self, other: Needs) -> Needs:
        return replace(self, **{one.name: getattr(self, one.name) | getattr(other, one.name) for one in fields(self)})


NETLINK = Needs(frozenset({"CAP_NET_ADMIN"}), frozenset({"AF_UNIX", "AF_NETLINK"}))
"""Changes of a kernel's network."""
INTERNET = Needs(families=frozenset({"AF_UNIX", "AF_INET", "AF_INET6"}))
"""Connections to others, or from them."""
NAMESPACES = Needs(frozenset({"CAP_SYS_ADMIN"}), enters=True)
"""Network namespaces other than the service's own."""
