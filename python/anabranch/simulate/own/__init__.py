"""Schemes of one's own: written in Python here, or in Rust as a crate outside the tree."""

from anabranch._core import Ack, Connection, Group, Member, Packet, View
from anabranch.simulate.own.scheme import Scheme

__all__ = ["Ack", "Connection", "Group", "Member", "Packet", "Scheme", "View"]
