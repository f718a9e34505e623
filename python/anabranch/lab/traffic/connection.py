"""A TCP connection of the player: both ends in one process, woken per chunk, not per packet."""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import time
from collections.abc import Mapping
from typing import Protocol

from anabranch.lab.traffic import tcp_info

SEND_CHUNK = 256 * 1024
RECEIVE_CHUNK = 1024 * 1024
WAKE_BYTES = 32 * 1024
"""A receiver is woken by so many bytes; many more would fill its initial buffer of 128 KiB before it reads."""
RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER that ends a connection by an RST: no TIME_WAIT, so that ports do not run out."""

ZEROS = memoryview(bytes(SEND_CHUNK))
SCRATCH = bytearray(RECEIVE_CHUNK)


class Ready(Protocol):
    """Handler that the loop calls when its descriptor is ready."""

    def ready(self, events: int) -> None:
        """Does what there is to do."""


class Loop(Protocol):
    """Loop that connections live in: it opens their sockets, wakes them, and hears how their flows end."""

    addresses: list[str]
    congestion_control: str
    ran: set[str]
    poll: select.epoll
    unaccepted: dict[tuple[str, int, int, int], Connection]
    """By address and port of the sender, host and port of the receiver."""
    ports: Mapping[int, int]
    """Port at which hosts listen, by the mark that the answers of a connection bear; 0 for none."""

    def open_socket(self, host: int) -> socket.socket:
        """A TCP socket in the namespace of a host."""

    def watch(self, descriptor: int, handler: Ready, events: int) -> None:
        """Calls the handler whenever the descriptor is ready."""

    def forget(self, descriptor: int) -> None:
        """The end of `watch`."""

    def ended(self, connection: Connection) -> None:
        """A flow is complete; its connection is free."""

    def broken(self, flow: Flow | None, connection: Connection) -> None:
        """A connection is lost, and the flow on it, if there was one."""


class Flow:
    """One flow on its way."""

    def __init__(
        self, source: int, target: int, size: int, source_port: int = 0, mark: int = 0, back_mark: int = 0
    ) -> None:
        self.source, self.target, self.size, self.source_port = source, target, size, source_port
        self.mark, self.back_mark = mark, back_mark
        self.started_ns: int | None = None
        self.finished_ns: int | None = None
        self.received = 0
        self.sent: tcp_info.Sent | None = None
        self.out_of_order: int | None = None
        self.error: str | None = None


class Connection:
    """A sending end and, once it is accepted, its receiving end."""

    def __init__(self, player: Loop, opened_for: Flow) -> None:
        self.player, self.source, self.target = player, opened_for.source, opened_for.target
        self.mark, self.back_mark = opened_for.mark, opened_for.back_mark
        self.key: tuple[str, int, int, int] | None = None
        self.flow: Flow | None = None
        self.left = 0
        self.waits = True
        self.sent_before = tcp_info.NOTHING_SENT
        self.out_of_order_before = 0
        self.receiver: socket.socket | None = None
        self.sender = player.open_socket(self.source)
        if player.congestion_control:
            self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, player.congestion_control.encode())
        self.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        if self.mark:
            set_mark(self.sender, self.mark)
        if opened_for.source_port:
            self.sender.bind((player.addresses[self.source], opened_for.source_port))
        target_port = player.ports[self.back_mark]
        self._refused = self.sender.connect_ex((player.addresses[self.target], target_port))
        if self._refused not in (0, errno.EINPROGRESS):
            return
        player.watch(self.sender.fileno(), self, select.EPOLLOUT)
        address, port = self.sender.getsockname()
        self.key = (address, port, self.target, target_port)
        player.unaccepted[self.key] = self

    def begin(self, flow: Flow) -> None:
        """Sends a flow; the connection is idle or has only just been asked for."""
        self.flow, self.left = flow, flow.size
        if flow.mark != self.mark:
            set_mark(self.sender, flow.mark)
            self.mark = flow.mark
        if flow.back_mark != self.back_mark and self.receiver is not None:
            set_mark(self.receiver, flow.back_mark)
            self.back_mark = flow.back_mark
        if self._refused not in (0, errno.EINPROGRESS):
            self.fail(self._refused)
        if self.receiver is not None:
            self._expect()
        # Before it is connected the loop tells when there is room.
        if not self.waits:
            self.push()

    def count(self) -> None:
        """Writes down what the flow under way has cost since it began."""
        if self.flow is not None:
            now = tcp_info.sent(self.sender)
            self.player.ran.add(tcp_info.congestion_control(self.sender))
            self.flow.sent, self.sent_before = tcp_info.since(now, self.sent_before), now
        if self.flow is not None and self.receiver is not None:
            out_of_order = tcp_info.out_of_order(self.receiver)
            self.flow.out_of_order = out_of_order - self.out_of_order_before
            self.out_of_order_before = out_of_order

    def ready(self, events: int) -> None:
        """The sender may go on, or its connection broke."""
        if events & (select.EPOLLERR | select.EPOLLHUP):
            self.fail(self.sender.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        else:
            self.push()

    def push(self) -> None:
        """Hands the kernel as much as it takes."""
        while self.left:
            if not self._send():
                break
        if self.sender.fileno() < 0:
            return
        waits = self.left > 0
        if waits != self.waits:
            self.waits = waits
            self.player.poll.modify(self.sender, select.EPOLLOUT if waits else 0)

    def _send(self) -> bool:
        try:
            self.left -= self.sender.send(ZEROS[: self.left])
        except BlockingIOError:
            return False
        except OSError as error:
            self.fail(error.errno or errno.EIO)
            return False
        return True

    def accepted(self, receiver: socket.socket) -> None:
        """The receiving end is there."""
        self.receiver = receiver
        receiver.setblocking(False)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        if self.flow is not None:
            self._expect()
        self.player.watch(receiver.fileno(), _Receiver(self), select.EPOLLIN)

    def arrived(self) -> None:
        """A chunk, or the rest of the flow."""
        assert self.receiver is not None
        try:
            count = self.receiver.recv_into(SCRATCH, RECEIVE_CHUNK, socket.MSG_TRUNC)
        except BlockingIOError:
            return
        except OSError as error:
            self.fail(error.errno or errno.EIO)
            return
        flow = self.flow
        if count == 0 or flow is None:
            self.fail(errno.ECONNRESET)
            return
        flow.received += count
        if flow.received < flow.size:
            self._expect()
            return
        flow.finished_ns = time.monotonic_ns()
        self.count()
        self.flow = None
        self.player.ended(self)

    def fail(self, error: int) -> None:
        """Gives up; the flow stays unfinished and says why."""
        flow, self.flow = self.flow, None
        self.close()
        if flow is not None:
            flow.error = os.strerror(error)
        self.player.broken(flow, self)

    def close(self) -> None:
        """Ends both ends."""
        if self.key is not None:
            self.player.unaccepted.pop(self.key, None)
        for end in (self.sender, self.receiver):
            if end is not None and end.fileno() >= 0:
                self.player.forget(end.fileno())
                end.close()

    def _expect(self) -> None:
        assert self.receiver is not None
        assert self.flow is not None
        low_water = min(self.flow.size - self.flow.received, WAKE_BYTES)
        self.receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, low_water)


def set_mark(end: socket.socket, mark: int) -> None:
    """Marks the packets that a socket sends from now on (SO_MARK, socket(7)), which rules of nftables see.

    The connections that a listening socket accepts have its mark from their first packet on.
    """
    end.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, mark)


class _Receiver:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ready(self, events: int) -> None:
        del events
        self._connection.arrived()
