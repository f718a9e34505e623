"""The process that plays flows over TCP: `python -m anabranch.lab.traffic.player`.

Specification on stdin, one line of JSON; lines of JSON on stdout: when it began, how far it is, the result.

One thread and one epoll loop hold both ends of every connection, each socket in the namespace of its host. So one
clock stamps both ends, the receiver knows what belongs to a flow without a header in the stream (a flow of 100 bytes is
100 bytes of payload), and CPU is spent per chunk: a receiver is woken when a chunk or the rest of a flow is there
(SO_RCVLOWAT, socket(7)) and drops it in the kernel, uncopied (MSG_TRUNC, tcp(7)).
"""

from __future__ import annotations

import resource
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.deploy.netlink.namespace import enter
from anabranch.files.errors import AnabranchError
from anabranch.lab.traffic import kernel_counters
from anabranch.lab.traffic.connection import Connection, Flow, Ready, set_mark
from anabranch.lab.traffic.parent import Parent, asked, say
from anabranch.lab.traffic.timer import Timer

PORT, MARKED_PORT = 5001, 6001
BACKLOG = 4096
EVENTS_MAX = 64
LEAD_NS = 100_000_000
"""From the end of preparations to the first moment of the list."""
PROGRESS_NS = 200_000_000
WARM_TIMEOUT_NS = 10_000_000_000


class Player:
    """Plays a list of flows between hosts.

    Args:
        hosts: Address and namespace of each.
        flows: Columns `src`, `dst` (positions in `hosts`), `size_bytes`, `start_ns` from the first moment on,
            `source_port` (0: any), `mark` and `back_mark` (of the sender's and the receiver's packets; 0: none).
        end_ns: When it ends, whatever is unfinished then.
        persistent: Flows between two hosts use idle connections again, the latest first; a new one each otherwise.
        connections_per_pair: Opened for each pair of the list before the first moment; for `persistent`.
        congestion_control: Of every sender; the namespace's own where it is empty.

    """

    def __init__(
        self,
        hosts: Sequence[Mapping[str, str]],
        flows: Mapping[str, Sequence[int]],
        *,
        end_ns: int,
        persistent: bool,
        connections_per_pair: int,
        congestion_control: str,
    ) -> None:
        self.addresses = [host["address"] for host in hosts]
        self.namespaces = [host["namespace"] for host in hosts]
        self.congestion_control = congestion_control
        self.ran: set[str] = set()
        """Names of the congestion controls that senders were seen to run."""
        self.poll = select.epoll()
        self.unaccepted: dict[tuple[str, int, int, int], Connection] = {}
        self._here = ""
        self._handlers: dict[int, Ready] = {}
        self._idle: dict[tuple[int, int], list[Connection]] = {}
        self._persistent, self._warm = persistent, connections_per_pair
        self._end_ns = end_ns
        self._starts = flows["start_ns"]
        self._order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        self._next = 0
        columns = ("src", "dst", "size_bytes", "source_port", "mark", "back_mark")
        self._flows = [Flow(*row) for row in zip(*(flows[name] for name in columns), strict=True)]
        self._over = 0
        self._opened = 0
        self._began_ns = 0
        self._timer = Timer()
        self.watch(self._timer.fileno(), _Clock(self._timer), select.EPOLLIN)
        self.watch(sys.stdin.fileno(), Parent(), select.EPOLLIN)
        self._check_congestion_control()
        # The kernel acknowledges before this process has accepted: on a busy machine, flows of some packets whole.
        marks = sorted({*flows["back_mark"]} - {0})
        self.ports: Mapping[int, int] = {0: PORT} | {mark: MARKED_PORT + nth for nth, mark in enumerate(marks)}
        for host in sorted(set(flows["dst"])):
            for mark, port in self.ports.items():
                self._listen(host, mark, port)

    def _listen(self, host: int, mark: int, port: int) -> None:
        listener = self.open_socket(host)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if mark:
            set_mark(listener, mark)
        listener.bind((self.addresses[host], port))
        listener.listen(BACKLOG)
        self.watch(listener.fileno(), _Listener(self, listener, host, port), select.EPOLLIN)

    def open_socket(self, host: int) -> socket.socket:
        """A TCP socket in the namespace of a host."""
        if self._here != self.namespaces[host]:
            enter(self.namespaces[host])
            self._here = self.namespaces[host]
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        opened.setblocking(False)
        return opened

    def watch(self, descriptor: int, handler: Ready, events: int) -> None:
        """Calls the handler whenever the descriptor is ready."""
        self._handlers[descriptor] = handler
        self.poll.register(descriptor, events)

    def forget(self, descriptor: int) -> None:
        """The end of `watch`."""
        if self._handlers.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def ended(self, connection: Connection) -> None:
        """A flow is complete; its connection is free."""
        self._over += 1
        if self._persistent:
            self._idle.setdefault((connection.source, connection.target), []).append(connection)
        else:
            connection.close()

    def broken(self, flow: Flow | None, connection: Connection) -> None:
        """A connection is lost, and the flow on it, if there was one."""
        if flow is not None:
            self._over += 1
        idle = self._idle.get((connection.source, connection.target), [])
        if connection in idle:
            idle.remove(connection)

    def play(self) -> dict[str, Any]:
        """Plays everything; returns what came of it, flows as columns in the order of the list."""
        self._warm_up()
        self._began_ns = time.monotonic_ns() + LEAD_NS
        say({"began_ns": self._began_ns})
        end_ns, reported_ns = self._began_ns + self._end_ns, self._began_ns
        cpu = time.process_time_ns()
        count = len(self._flows)
        while self._over < count:
            now = self._start_due()
            if now >= end_ns:
                break
            if now >= reported_ns + PROGRESS_NS:
                reported_ns = now
                say({"started": self._next, "over": self._over})
            upcoming = self._began_ns + self._starts[self._order[self._next]] if self._next < count else end_ns
            self._timer.set(min(upcoming, end_ns, now + PROGRESS_NS))
            self._step()
        stopped = time.monotonic_ns()
        for connection in self._connections():
            connection.count()
        return {
            "elapsed_ns": stopped - self._began_ns,
            "cpu_ns": time.process_time_ns() - cpu,
            "connections": self._opened,
            "flows": self._columns(),
        }

    def close(self) -> None:
        """Ends what is still open, so that its packets are over before counters are read."""
        for connection in self._connections():
            connection.close()

    def _connections(self) -> list[Connection]:
        return [handler for handler in self._handlers.values() if isinstance(handler, Connection)]

    def _warm_up(self) -> None:
        for pair in sorted({(flow.source, flow.target) for flow in self._flows}):
            self._idle[pair] = [self._open(Flow(*pair, size=0)) for _ in range(self._warm)]
        deadline = time.monotonic_ns() + WARM_TIMEOUT_NS
        while self.unaccepted and (now := time.monotonic_ns()) < deadline:
            self._timer.set(min(deadline, now + PROGRESS_NS))
            self._step()
        if self.unaccepted:
            (address, _, target, _) = next(iter(self.unaccepted))
            raise AnabranchError(f"{address} to {self.addresses[target]}: no connection; does the fabric forward?")

    def _check_congestion_control(self) -> None:
        if not self.congestion_control:
            return
        with self.open_socket(0) as trial:
            try:
                trial.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion_control.encode())
            except OSError:
                known = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="ascii").split()
                raise AnabranchError(
                    f"congestion control {self.congestion_control}: not in this kernel; it has {', '.join(known)}"
                ) from None

    def _open(self, flow: Flow) -> Connection:
        self._opened += 1
        return Connection(self, flow)

    def _start_due(self) -> int:
        """Starts the flows whose time has come; returns the time."""
        now = time.monotonic_ns()
        while self._next < len(self._order):
            number = self._order[self._next]
            if self._began_ns + self._starts[number] > now:
                break
            self._next += 1
            flow = self._flows[number]
            idle = self._idle.get((flow.source, flow.target))
            flow.started_ns = time.monotonic_ns()
            connection = idle.pop() if idle else self._open(flow)
            connection.begin(flow)
            now = time.monotonic_ns()
        return now

    def _step(self) -> None:
        for descriptor, events in self.poll.poll(PROGRESS_NS / 1e9, EVENTS_MAX):
            # An earlier event of this round may have closed it.
            handler = self._handlers.get(descriptor)
            if handler is not None:
                handler.ready(events)
            if self._began_ns:
                self._start_due()

    def _columns(self) -> dict[str, list[Any]]:
        began, flows = self._began_ns, self._flows
        return {
            "started_ns": [None if flow.started_ns is None else flow.started_ns - began for flow in flows],
            "finished_ns": [None if flow.finished_ns is None else flow.finished_ns - began for flow in flows],
            "received_bytes": [flow.received for flow in flows],
            "sent": [flow.sent for flow in flows],
            "out_of_order_packets": [flow.out_of_order for flow in flows],
            "error": [flow.error for flow in flows],
        }


class _Clock:
    def __init__(self, timer: Timer) -> None:
        self._timer = timer

    def ready(self, events: int) -> None:
        del events
        self._timer.clear()


class _Listener:
    def __init__(self, player: Player, listener: socket.socket, host: int, port: int) -> None:
        self._player, self._listener, self._host, self._port = player, listener, host, port

    def ready(self, events: int) -> None:
        del events
        try:
            receiver, (address, port) = self._listener.accept()
        except BlockingIOError:
            return
        connection = self._player.unaccepted.pop((address, port, self._host, self._port), None)
        if connection is None:
            receiver.close()  # its sender has given up meanwhile
        else:
            connection.accepted(receiver)


def main() -> None:
    """Reads the specification, plays, answers."""
    specification = asked()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
    namespaces = sorted({host["namespace"] for host in specification["hosts"]})
    try:
        with kernel_counters.changed(namespaces, specification.pop("sysctls")):
            player = Player(**specification)
            before = kernel_counters.read(namespaces)
            result = player.play()
            after = kernel_counters.read(namespaces)
            result["counters"] = {name: after[name] - before[name] for name in after}
            result["settings"] = kernel_counters.settings(namespaces[0]) | kernel_counters.congestion(player.ran)
            player.close()
        # Settings are back before whoever asked is told: then he may kill this.
        say({"result": result})
    except (AnabranchError, OSError) as error:
        say({"error": str(error)})
        sys.exit(2)


if __name__ == "__main__":
    main()
