"""Messages of rtnetlink: some of pyroute2, and those that its 0.9 has no classes for (`uapi/linux/nexthop.h`)."""

from __future__ import annotations

import struct

from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install

try:
    from pyroute2.netlink import NLA_F_NESTED, nla, nlmsg
    from pyroute2.netlink.rtnl.fibmsg import fibmsg
    from pyroute2.netlink.rtnl.ifinfmsg import ifinfmsg
    from pyroute2.netlink.rtnl.ndmsg import ndmsg
except ModuleNotFoundError:
    raise AnabranchError(f"pyroute2: missing; {install('switches')}") from None

__all__ = ["fibmsg", "ifinfmsg", "ndmsg", "nhmsg", "rtmsg"]

RTM_GETLINK, RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 18, 24, 25, 26
RTM_NEWNEIGH, RTM_GETNEIGH, RTM_GETRULE = 28, 30, 34
RTM_NEWNEXTHOP, RTM_DELNEXTHOP, RTM_GETNEXTHOP, RTM_GETNEXTHOPBUCKET = 104, 105, 106, 118
GROUP_ENTRY = struct.Struct("=IBBH")
"""`struct nexthop_grp`: number, low and high byte of weight - 1 (the high one since Linux 6.12), reserved."""
GROUP_MPATH, GROUP_RESILIENT = 0, 1
DUMP_STATS = 1
"""Bit of `NHA_OP_FLAGS`: groups are listed with their counters (since Linux 6.9)."""


class nhmsg(nlmsg):  # type: ignore[misc]  # noqa: N801 (as the kernel and pyroute2 name their messages)
    """`struct nhmsg` and its attributes."""

    fields = (("family", "B"), ("scope", "B"), ("protocol", "B"), ("resvd", "B"), ("flags", "I"))
    nla_map = (
        ("NHA_UNSPEC", "none"),
        ("NHA_ID", "uint32"),
        ("NHA_GROUP", "cdata"),
        ("NHA_GROUP_TYPE", "uint16"),
        ("NHA_BLACKHOLE", "flag"),
        ("NHA_OIF", "uint32"),
        ("NHA_GATEWAY", "cdata"),
        ("NHA_ENCAP_TYPE", "uint16"),
        ("NHA_ENCAP", "cdata"),
        ("NHA_GROUPS", "flag"),
        ("NHA_MASTER", "uint32"),
        ("NHA_FDB", "flag"),
        ("NHA_RES_GROUP", "res_group"),
        ("NHA_RES_BUCKET", "res_bucket"),
        ("NHA_OP_FLAGS", "uint32"),
        ("NHA_GROUP_STATS", "cdata"),
    )

    class res_group(nla):  # type: ignore[misc]  # noqa: N801
        """Attributes of a resilient group."""

        nla_flags = NLA_F_NESTED
        nla_map = (
            ("NHA_RES_GROUP_PAD", "none"),
            ("NHA_RES_GROUP_BUCKETS", "uint16"),
            ("NHA_RES_GROUP_IDLE_TIMER", "uint32"),
            ("NHA_RES_GROUP_UNBALANCED_TIMER", "uint32"),
            ("NHA_RES_GROUP_UNBALANCED_TIME", "uint64"),
        )

    class res_bucket(nla):  # type: ignore[misc]  # noqa: N801
        """Attributes of one of its buckets."""

        nla_map = (
            ("NHA_RES_BUCKET_PAD", "none"),
            ("NHA_RES_BUCKET_INDEX", "uint16"),
            ("NHA_RES_BUCKET_IDLE_TIME", "uint64"),
            ("NHA_RES_BUCKET_NH_ID", "uint32"),
        )


class rtmsg(nlmsg):  # type: ignore[misc]  # noqa: N801
    """`struct rtmsg` with the attributes of routes by nexthop objects and of look-ups by 5-tuple."""

    fields = (
        ("family", "B"),
        ("dst_len", "B"),
        ("src_len", "B"),
        ("tos", "B"),
        ("table", "B"),
        ("protocol", "B"),
        ("scope", "B"),
        ("type", "B"),
        ("flags", "I"),
    )
    nla_map = tuple(
        {
            1: ("RTA_DST", "cdata"),
            4: ("RTA_OIF", "uint32"),
            5: ("RTA_GATEWAY", "cdata"),
            6: ("RTA_PRIORITY", "uint32"),
            15: ("RTA_TABLE", "uint32"),
            18: ("RTA_VIA", "cdata"),
            27: ("RTA_IP_PROTO", "uint8"),
            28: ("RTA_SPORT", "be16"),
            29: ("RTA_DPORT", "be16"),
            30: ("RTA_NH_ID", "uint32"),
        }.get(number, (f"RTA_{number}", "cdata"))
        for number in range(32)
    )
