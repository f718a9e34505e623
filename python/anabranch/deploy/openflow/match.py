"""Match of a rule: OXM fields with values and masks (OpenFlow 1.5.1 section 7.2.3)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from anabranch.files.errors import AnabranchError

OPENFLOW_BASIC = 0x8000
NICIRA_1 = 0x0001


@dataclass(frozen=True)
class Field:
    """One field of a packet or of its path through the switch."""

    name: str
    """Name under OpenFlow 1.5 in `ovs-ofctl`."""
    oxm_class: int
    number: int
    bits: int
    maskable: bool = True

    @property
    def size(self) -> int:
        """Number of bytes of a value."""
        return (self.bits + 7) // 8

    @property
    def ones(self) -> int:
        """Value of all ones."""
        return (1 << self.bits) - 1


FIELDS: dict[str, Field] = {
    field.name: field
    for field in (
        Field("in_port", OPENFLOW_BASIC, 0, 32, maskable=False),
        Field("eth_src", OPENFLOW_BASIC, 4, 48),
        Field("eth_dst", OPENFLOW_BASIC, 3, 48),
        Field("eth_type", OPENFLOW_BASIC, 5, 16, maskable=False),
        Field("vlan_vid", OPENFLOW_BASIC, 6, 13),
        Field("ip_src", OPENFLOW_BASIC, 11, 32),
        Field("ip_dst", OPENFLOW_BASIC, 12, 32),
        Field("ipv6_src", OPENFLOW_BASIC, 26, 128),
        Field("ipv6_dst", OPENFLOW_BASIC, 27, 128),
        Field("ip_dscp", OPENFLOW_BASIC, 8, 6, maskable=False),
        Field("ip_proto", OPENFLOW_BASIC, 10, 8, maskable=False),
        Field("tcp_src", OPENFLOW_BASIC, 13, 16),
        Field("tcp_dst", OPENFLOW_BASIC, 14, 16),
        Field("udp_src", OPENFLOW_BASIC, 15, 16),
        Field("udp_dst", OPENFLOW_BASIC, 16, 16),
        Field("sctp_src", OPENFLOW_BASIC, 17, 16),
        Field("sctp_dst", OPENFLOW_BASIC, 18, 16),
        Field("arp_tpa", OPENFLOW_BASIC, 23, 32),
        # Registers have no number among OpenFlow 1.5's own 32-bit fields; Open vSwitch takes Nicira's.
        *(Field(f"reg{number}", NICIRA_1, number, 32) for number in range(16)),
    )
}
"""Fields that rules here match, set or hash; each has one name. In Open vSwitch's order."""

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806


@dataclass(frozen=True)
class Match:
    """Values and masks by field, in the order of the fields' definition above; a mask of all ones is left out.

    Bits outside a mask are zero in the value, and a field of which no bit matters is left out. Two matches for the same
    packets are equal.
    """

    fields: tuple[tuple[str, int, int | None], ...] = ()
    """(name, value, mask or None)."""
    foreign: bytes = b""
    """Fields without a name here, of another owner's rule: their OXM bytes, unchanged."""

    @classmethod
    def of(cls, **fields: int | tuple[int, int] | str) -> Match:
        """Makes `Match.of(eth_type=IPV4, ip_dst="10.0.2.0/24", tcp_dst=80, reg0=(0x10, 0xf0))`.

        Raises:
            AnabranchError: an unknown field, a value that does not fit, or a mask where none may be.

        """
        return cls.from_mapping(fields)

    @classmethod
    def from_mapping(cls, fields: Mapping[str, int | tuple[int, int] | str]) -> Match:
        """Makes the same match from a mapping."""
        for name in fields:
            if name not in FIELDS:
                raise AnabranchError(f"match: {name}: no field of a match; one of {', '.join(FIELDS)}")
        return cls.normal({name: _masked(FIELDS[name], given) for name, given in fields.items()})

    @classmethod
    def normal(cls, fields: Mapping[str, tuple[int, int]], foreign: bytes = b"") -> Match:
        """Makes a match from values and masks that fit their fields."""
        return cls(
            tuple(
                (name, value & mask, None if mask == field.ones else mask)
                for name, field in FIELDS.items()
                if name in fields
                for value, mask in (fields[name],)
                if mask
            ),
            foreign,
        )

    @property
    def as_mapping(self) -> dict[str, tuple[int, int | None]]:
        """(value, mask or None) by name."""
        return {name: (value, mask) for name, value, mask in self.fields}


def _masked(field: Field, given: int | tuple[int, int] | str) -> tuple[int, int]:
    whole = field.ones
    if isinstance(given, str):
        value, mask = _address(field, given)
    else:
        value, mask = given if isinstance(given, tuple) else (given, whole)
    if not (0 <= value <= whole and 0 <= mask <= whole):
        raise AnabranchError(f"match: {field.name}: {value}/{mask}: more than {field.bits} bits; give a smaller value")
    if mask != whole and not field.maskable:
        raise AnabranchError(f"match: {field.name}: {value}/{mask}: it takes no mask; give one value")
    return value, mask


def _address(field: Field, text: str) -> tuple[int, int]:
    """Parses an address or prefix."""
    try:
        if field.bits == 48:
            value = int.from_bytes(bytes.fromhex(text.replace(":", "")), "big")
            return value, (1 << 48) - 1
        network = ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise AnabranchError(f"match: {field.name}: {text}: {error}; write 10.0.2.0/24 or fd00::/64") from None
    if network.max_prefixlen != field.bits:
        raise AnabranchError(f"match: {field.name}: {text}: not an address of {field.bits} bits; take the other family")
    return int(network.network_address), int(network.netmask)
