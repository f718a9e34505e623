"""A small PLB of one's own at hosts: docs/own-scheme.md explains it."""

from dataclasses import dataclass

import anabranch as ab


@dataclass
class Flow:
    """Memory of the sender for one flow."""

    bytes: int = 0
    marked_bytes: int = 0
    congested_rounds: int = 0
    idle: bool = False
    suspended_until_ns: int = 0


class SmallPlb(ab.Scheme):
    """A flow that comes back marked, round trip after round trip, gets another entropy."""

    threshold = 0.5
    idle_rounds, rounds = 3, 12
    suspend_ns = 60_000_000_000

    def opened(self, connection):
        connection.state = Flow()

    def send(self, packet, connection):
        flow = connection.state
        if not flow.idle:
            return None
        flow.idle = False
        return self.move_if_congested(flow, connection, idle=True)

    def acknowledged(self, ack, connection):
        flow = connection.state
        flow.idle = ack.idle
        flow.bytes += ack.bytes
        flow.marked_bytes += ack.marked_bytes
        if not ack.round_ended or not flow.bytes:
            return None
        congested = flow.marked_bytes >= self.threshold * flow.bytes
        flow.congested_rounds = min(flow.congested_rounds + 1, self.rounds) if congested else 0
        flow.bytes = flow.marked_bytes = 0
        return self.move_if_congested(flow, connection, ack.idle)

    def move_if_congested(self, flow, connection, idle):
        enough = self.idle_rounds if idle else self.rounds
        if flow.congested_rounds < enough or connection.now_ns < flow.suspended_until_ns:
            return None
        flow.congested_rounds = 0
        return connection.draw_entropy()

    def timed_out(self, connection):
        """The path may be dead: move at once, and let congestion not move the flow back for a while."""
        flow = connection.state
        more = int(connection.random() * 2**16)  # of the time, in parts of 2**16
        flow.suspended_until_ns = connection.now_ns + self.suspend_ns + (self.suspend_ns * more >> 16)
        flow.bytes = flow.marked_bytes = flow.congested_rounds = 0
        return connection.draw_entropy()
