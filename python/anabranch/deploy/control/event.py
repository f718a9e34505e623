"""Events of the controller, written to the log and counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping

from anabranch.deploy.control.log import Field, log

KINDS = {
    "started": (logging.INFO, "the controller started"),
    "stopped": (logging.INFO, "the controller was asked to end"),
    "connected": (logging.INFO, "a switch was reached and its tables were read"),
    "lost": (logging.WARNING, "the connection to a switch ended"),
    "unreachable": (logging.WARNING, "a switch could not be reached, or did not answer as it must"),
    "stranger": (logging.WARNING, "a switch came to us that the file does not name"),
    "handshake-failed": (logging.WARNING, "who came to us is no switch that can be served; TLS or OpenFlow failed"),
    "exposed": (logging.WARNING, "a listener without TLS is open to all networks, or others can use a private key"),
    "primary": (logging.INFO, "this controller may change a switch now"),
    "secondary": (logging.WARNING, "another controller may change a switch now, and this one may not"),
    "planned": (logging.INFO, "a plan was made that differs from the one before"),
    "plan-failed": (logging.ERROR, "no plan could be made; what is installed stays"),
    "committed": (logging.INFO, "a switch took a set of changes"),
    "not-kept": (logging.ERROR, "the file that keeps a switch's tables cannot be written"),
    "refused": (logging.ERROR, "a switch refused a set of changes"),
    "drifted": (logging.WARNING, "somebody else changed what is ours in a switch"),
    "unrouted": (logging.WARNING, "a kernel has no route to what is to be routed there, so that it forwards nothing"),
    "routed-again": (logging.INFO, "a kernel has a route again to what is to be routed there"),
    "link-down": (logging.WARNING, "plans stopped using a link"),
    "link-up": (logging.INFO, "plans use a link again"),
    "damped": (logging.WARNING, "a link goes up and down too often to be used"),
    "losing": (logging.WARNING, "a link loses packets, which neither end reports"),
    "loses-no-more": (logging.INFO, "a link that lost packets loses none now"),
    "miswired": (logging.WARNING, "a port hears another neighbour than the file gives it"),
    "unheard": (logging.WARNING, "a port hears nothing of the neighbour that the file gives it"),
    "wired-as-written": (logging.INFO, "a port hears the neighbour of the file, which it did not"),
    "wiring-unchecked": (logging.WARNING, "a switch cannot find out how it is wired"),
    "rewired": (logging.WARNING, "plans follow the cables as they are, or another set of them"),
    "rate-changed": (logging.INFO, "a link has another rate"),
    "port-missing": (logging.WARNING, "a switch has no port of a name that the file gives"),
    "measurement-failed": (logging.WARNING, "a switch's counters could not be read"),
    "database-lost": (logging.WARNING, "an OVSDB cannot be reached"),
    "recording-ended": (logging.ERROR, "the recording cannot be written any more; the controller goes on"),
    "reloaded": (logging.INFO, "the file was read anew"),
    "reload-failed": (logging.ERROR, "the file is not as it must be; the one before stays in force"),
}
"""Every kind, with its level and meaning."""


class Events:
    """Receiver of events from the parts of a controller."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.listeners: list[Callable[[str, str | None, Mapping[str, Field]], None]] = []
        """Told of all, however many the log leaves out."""

    def report(self, kind: str, switch: str | None = None, **fields: Field) -> None:
        """Logs and counts one; `kind` is one of `KINDS`."""
        self.counts[kind] += 1
        log(KINDS[kind][0], kind, switch, **fields)
        for listener in self.listeners:
            listener(kind, switch, fields)
