"""The process that runs streams: `python -m anabranch.lab.traffic.stream_player`.

Specification on stdin, one line of JSON; the result on stdout. As in `player`, one thread and one epoll loop hold both
ends of every connection, each socket in the namespace of its host.
"""

from __future__ import annotations

import errno
import heapq
import os
import resource
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from anabranch.deploy.netlink.namespace import enter
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic import kernel_counters, tcp_info
from anabranch.lab.traffic.connection import RECEIVE_CHUNK, RESET_ON_CLOSE, SCRATCH, WAKE_BYTES
from anabranch.lab.traffic.parent import Parent, asked, say
from anabranch.lab.traffic.timer import Timer

BLOCK_MAX = 128 * 1024
"""Payload of one write: iPerf3's default, where a stream is fast enough."""
WRITES_PER_S = 20
"""Writes of a slow stream, in smaller blocks: a second must hold many of them."""
HEADERS = 40
"""IPv4 and TCP, whose options Linux takes off by itself (tcp(7), TCP_MAXSEG)."""
CONNECT_TIMEOUT_S = 10.0
LEAD_NS = 20_000_000
PROGRESS_NS = 200_000_000
EVENTS_MAX = 64
BACKLOG = 1024
PORT = 5002
"""Always the same, for hashes to be."""


class Sender:
    """The sending end of a stream: blocks at its rate, later blocks sooner where it was held up."""

    def __init__(self, end: socket.socket, rate_bps: float) -> None:
        self.end, self._rate_bps = end, rate_bps
        payload = tcp_info.segment_bytes(end)
        block = min(BLOCK_MAX, rate_bps / 8 / WRITES_PER_S)
        self._block = memoryview(bytes(payload * max(1, round(block / payload))))
        self._left = 0
        self._written = 0
        self.began_ns = 0
        self.waits = False
        self.behind = False
        """Whether TCP took the last block so late that the next was due already."""

    @property
    def block_ns(self) -> float:
        """Time of a block at the stream's rate."""
        return 8e9 * len(self._block) / self._rate_bps

    @property
    def due_ns(self) -> int:
        """When the next block is."""
        return self.began_ns + round(8e9 * self._written / self._rate_bps)

    def push(self) -> bool:
        """Writes the block under way, or a new one; whether all of it went."""
        self._left = self._left or len(self._block)
        try:
            count = self.end.send(self._block[: self._left])
        except BlockingIOError:
            count = 0
        self._left -= count
        self._written += count
        return self._left == 0


class StreamPlayer:
    """Runs streams between hosts.

    Args:
        hosts: Address and namespace of each.
        streams: Columns `source`, `target` (positions in `hosts`), `rate_bps`, `packet_bytes`, `source_port` (0: any).
        warm_up_ns: Before the window.
        window_ns: In which is counted.
        congestion_control: Of every sender.

    """

    def __init__(
        self,
        hosts: Sequence[Mapping[str, str]],
        streams: Mapping[str, Sequence[Any]],
        *,
        warm_up_ns: int,
        window_ns: int,
        congestion_control: str,
    ) -> None:
        self._addresses = [host["address"] for host in hosts]
        self._namespaces = [host["namespace"] for host in hosts]
        self._congestion_control = congestion_control
        self._warm_up_ns, self._window_ns = warm_up_ns, window_ns
        self._here = ""
        self._poll = select.epoll()
        self._timer = Timer()
        self._late_ns: list[int] = []
        self.receivers: list[socket.socket] = []
        self.senders: list[Sender] = []
        self._listeners = {target: self._listener(target) for target in sorted(set(streams["target"]))}
        for row in zip(*(streams[name] for name in streams), strict=True):
            self._connect(**dict(zip(streams, row, strict=True)))
        for listener in self._listeners.values():
            listener.close()
        self._sending = {sender.end.fileno(): index for index, sender in enumerate(self.senders)}
        self._receiving = {end.fileno(): end for end in self.receivers}
        for receiver in self.receivers:
            self._poll.register(receiver, select.EPOLLIN)
        for sender in self.senders:
            self._poll.register(sender.end, 0)
        self._poll.register(self._timer.fileno(), select.EPOLLIN)
        self._poll.register(sys.stdin.fileno(), select.EPOLLIN)

    def play(self) -> dict[str, Any]:
        """Runs them; what they came to in the window, a row each in the order of `streams.COLUMNS`."""
        namespaces = sorted(set(self._namespaces))
        began = time.monotonic_ns() + LEAD_NS
        # Streams of one rate would write all at once, again and again.
        for index, sender in enumerate(self.senders):
            sender.began_ns = began + round(sender.block_ns * index / len(self.senders))
        due = [(sender.began_ns, index) for index, sender in enumerate(self.senders)]
        heapq.heapify(due)
        self._until(began + self._warm_up_ns, due)
        self._late_ns.clear()
        cpu = time.process_time_ns()
        # The window holds both readings, however long they take: no rate is above what was carried.
        opened, before, kernel = time.monotonic_ns(), self._counts(), kernel_counters.read(namespaces)
        self._until(opened + self._window_ns, due)
        after, closed = self._counts(), time.monotonic_ns()
        cpu = time.process_time_ns() - cpu
        now = kernel_counters.read(namespaces)
        late = sorted(self._late_ns)
        return {
            "streams": [[b - a for a, b in zip(*rows, strict=True)] for rows in zip(before, after, strict=True)],
            "window_ns": closed - opened,
            "late_p99_ns": late[len(late) * 99 // 100] if late else 0,
            "cpu_ns": cpu,
            "counters": {name: now[name] - kernel[name] for name in now},
            "settings": kernel_counters.settings(namespaces[0])
            | kernel_counters.congestion({tcp_info.congestion_control(sender.end) for sender in self.senders}),
        }

    def close(self) -> None:
        """Ends all connections."""
        for end in (*(sender.end for sender in self.senders), *self.receivers):
            end.close()

    def _counts(self) -> list[list[int]]:
        counts = []
        for sender, receiver in zip(self.senders, self.receivers, strict=True):
            got, sent = tcp_info.received(receiver), tcp_info.sent(sender.end)
            counted = [sent.packets, sent.retransmitted, sent.reordered, sent.timeouts or 0]
            counts.append([*got, *counted, tcp_info.needless(sender.end)])
        return counts

    def _until(self, end_ns: int, due: list[tuple[int, int]]) -> None:
        reported = time.monotonic_ns()
        while (now := time.monotonic_ns()) < end_ns:
            if now > reported + PROGRESS_NS:
                reported = now
                say({"left_ns": end_ns - now})
            while due and due[0][0] <= now:
                at, index = heapq.heappop(due)
                if not self.senders[index].behind:
                    self._late_ns.append(now - at)
                self._write(index, due)
            self._timer.set(min(due[0][0] if due else end_ns, end_ns, now + PROGRESS_NS))
            for descriptor, events in self._poll.poll(PROGRESS_NS / 1e9, EVENTS_MAX):
                self._ready(descriptor, events, due)

    def _write(self, index: int, due: list[tuple[int, int]]) -> None:
        sender = self.senders[index]
        whole = sender.push()
        if whole:
            at = sender.due_ns
            sender.behind = at <= time.monotonic_ns()
            heapq.heappush(due, (at, index))
        if sender.waits == whole:
            sender.waits = not whole
            self._poll.modify(sender.end, 0 if whole else select.EPOLLOUT)

    def _ready(self, descriptor: int, events: int, due: list[tuple[int, int]]) -> None:
        receiver = self._receiving.get(descriptor)
        if receiver is not None:
            try:
                if not receiver.recv_into(SCRATCH, RECEIVE_CHUNK, socket.MSG_TRUNC):
                    raise AnabranchError("stream: its connection was closed; what else runs in the lab?")
            except BlockingIOError:
                pass
        elif descriptor in self._sending:
            index = self._sending[descriptor]
            if events & (select.EPOLLERR | select.EPOLLHUP):
                error = self.senders[index].end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                raise AnabranchError(f"stream: its connection broke: {os.strerror(error)}")
            self._write(index, due)
        elif descriptor == self._timer.fileno():
            self._timer.clear()
        else:
            Parent().ready(events)

    def _open(self, host: int) -> socket.socket:
        if self._here != self._namespaces[host]:
            enter(self._namespaces[host])
            self._here = self._namespaces[host]
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)

    def _listener(self, host: int) -> socket.socket:
        listener = self._open(host)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self._addresses[host], PORT))
        listener.listen(BACKLOG)
        listener.settimeout(CONNECT_TIMEOUT_S)
        return listener

    def _connect(self, source: int, target: int, rate_bps: float, packet_bytes: int, source_port: int) -> None:
        listener, end = self._listeners[target], self._open(source)
        end.settimeout(CONNECT_TIMEOUT_S)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self._congestion_control.encode())
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, packet_bytes - HEADERS)
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            end.bind((self._addresses[source], source_port))
            end.connect(listener.getsockname())
            receiver, _ = listener.accept()
        except OSError as error:
            why = "no answer; does the fabric forward?" if isinstance(error, TimeoutError) else os.strerror(_of(error))
            raise AnabranchError(f"{self._addresses[source]} to {self._addresses[target]}: {why}") from None
        for one in (end, receiver):
            one.setblocking(False)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, WAKE_BYTES)
        self.senders.append(Sender(end, rate_bps))
        self.receivers.append(receiver)


def _of(error: OSError) -> int:
    return error.errno or errno.EIO


def main() -> None:
    """Reads the specification, plays, answers."""
    specification = asked()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    namespaces = sorted({host["namespace"] for host in specification["hosts"]})
    try:
        with kernel_counters.changed(namespaces, specification.pop("sysctls")):
            player = StreamPlayer(**specification)
            try:
                result = player.play()
            finally:
                player.close()
        # Settings are back before whoever asked is told: then he may kill this.
        say({"result": result})
    except (AnabranchError, OSError) as error:
        say({"error": str(error)})
        sys.exit(2)


if __name__ == "__main__":
    main()
