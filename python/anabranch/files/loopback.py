"""Pages that only this machine is to read: headers of every answer, and the names by which a browser may ask."""

from __future__ import annotations

import ipaddress
from types import MappingProxyType

HEADERS = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
    }
)
"""Headers that keep other sites from reading or framing an answer."""
UNFRAMED = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""Part of a Content-Security-Policy that suits every page."""
REFUSAL = "listening for this machine only: ask for localhost"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself: `localhost` or a loopback address, in brackets or not."""
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def asks_for_loopback(host_header: str) -> bool:
    """Whether a request's `Host` header names this machine itself.

    Another site may make its own name resolve to a loopback address (DNS rebinding) and read the answer as its own; the
    browser then sends that name.
    """
    host = host_header if host_header.endswith("]") else host_header.rsplit(":", 1)[0]
    return is_loopback(host)
