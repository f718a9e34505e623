"""Ways in that a controller's file leaves open: listeners without TLS on all networks, keys that others can use."""

from __future__ import annotations

import ipaddress
import stat

from anabranch.deploy.control.fabric import FabricFile


def exposures(file: FabricFile) -> list[str]:
    """A sentence for each, with a hint."""
    sentences = []
    kind, _, rest = file.openflow.partition(":")
    if kind == "tcp" and _everywhere(rest):
        hint = "listen at ssl:, or at the address of the management network"
        problem = "open to all networks without TLS, so that anyone can say it is a switch"
        sentences.append(f"{file.file}: listen.openflow: {file.openflow}: {problem}; {hint}")
    if _everywhere(file.http):
        hint = "listen at 127.0.0.1, or at the address of the management network"
        sentences.append(f"{file.file}: listen.http: {file.http}: the pages are open to all networks; {hint}")
    if file.tls is not None:
        mode = file.tls.key.stat().st_mode
        if mode & (stat.S_IROTH | stat.S_IWOTH):
            problem = f"mode {stat.S_IMODE(mode):04o}: others on this machine can use the private key"
            sentences.append(f"{file.file}: tls.key: {file.tls.key}: {problem}; chmod 600 {file.tls.key}")
    return sentences


def _everywhere(address: str) -> bool:
    """Whether `HOST:PORT` is of all addresses of the machine."""
    try:
        return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_unspecified
    except ValueError:
        return False
