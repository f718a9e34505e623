"""Locks of switches in a kernel: of several controllers on one machine, one at a time follows a switch."""

from __future__ import annotations

import errno
import hashlib
import socket

from anabranch.files.errors import AnabranchError

LOOK_S = 0.5
"""Time between two attempts to lock a switch that another controller follows."""


class Followed(AnabranchError):  # noqa: N818 - a state that one finds
    """Another controller follows the switch."""


def lock_switch(target: str, owner: int, switch: str) -> socket.socket:
    """Locks a switch of the network namespace that the calling thread is in, until the socket is closed.

    The lock is an address of Unix sockets without a file (unix(7), abstract): the kernel gives it to one process of a
    network namespace, and takes it back when that ends, by SIGKILL too.

    Args:
        target: the switch's target.
        owner: the controller's mark in what it writes; those of other marks do not touch each other.
        switch: the switch's name in the fabric file.

    Raises:
        Followed: another controller has locked it.

    """
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    name = hashlib.blake2s(f"{target}/{owner}/{switch}".encode(), digest_size=16).hexdigest()
    try:
        lock.bind(f"\0anabranch/control/{name}")
    except OSError as error:
        lock.close()
        if error.errno != errno.EADDRINUSE:
            raise
        hint = "this one changes nothing, and goes on when that ends"
        raise Followed(f"{switch}: another controller with owner {owner} follows it; {hint}") from None
    return lock
