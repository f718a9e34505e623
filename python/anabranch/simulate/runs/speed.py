"""Packet-hops a second, before anything has run."""

HOPS_PER_SECOND = 10e6
"""Packet-hops a second of one core: half of what an idle one does where a fabric is small."""
