"""Settings of a kernel that say what it hashes of a packet (`net.ipv4.fib_multipath_hash_policy` and its like)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PORTS = 1
"""The policy that the plans of `anabranch plan` set: addresses, protocol and ports."""
LAYER_3, INNER_LAYER_3, CUSTOM = 0, 2, 3
SOURCE, DESTINATION, PROTOCOL, FLOW_LABEL, SOURCE_PORT, DESTINATION_PORT = (1 << bit for bit in range(6))
"""Bits of `fib_multipath_hash_fields`; those above are the same of the packet inside a tunnel."""
INNER = 0xFC0


@dataclass(frozen=True)
class HashPolicy:
    """What the kernel hashes of one IP version."""

    version: int
    number: int = PORTS
    fields: int = SOURCE | DESTINATION | PROTOCOL
    """Bits that policy 3 hashes."""

    @property
    def name(self) -> str:
        """The setting's name."""
        return f"net.ipv{self.version}.fib_multipath_hash_policy"

    @property
    def hashed(self) -> int:
        """Bits of what is hashed."""
        if self.number == CUSTOM:
            return self.fields
        if self.number == PORTS:
            return SOURCE | DESTINATION | PROTOCOL | SOURCE_PORT | DESTINATION_PORT
        inner = INNER if self.number == INNER_LAYER_3 else 0
        return inner | SOURCE | DESTINATION | (PROTOCOL | FLOW_LABEL if self.version == 6 else 0)


def read(version: int) -> HashPolicy | None:
    """The policy of the network namespace this runs in, or `None` where the kernel has no such IP version."""
    folder = Path(f"/proc/sys/net/ipv{version}")
    policy, fields = folder / "fib_multipath_hash_policy", folder / "fib_multipath_hash_fields"
    if not policy.exists():
        return None
    read_policy = HashPolicy(version, int(policy.read_text()))
    # Policy 3 and its fields came together, in Linux 5.14.
    return HashPolicy(version, read_policy.number, int(fields.read_text(), 0)) if fields.exists() else read_policy
