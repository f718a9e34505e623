"""The sender of the simulator beside the kernel's own, where packets overtake others by a known depth.

What holds retransmissions down is switched off and on in both: reports of duplicates and timestamps in Linux, `dsack`
in the simulator.
"""

from __future__ import annotations

import socket
import threading
import time

from anabranch import _core
from anabranch.deploy.netlink.namespace import inside
from anabranch.lab.traffic import tcp_info
from support.late_pair import late_pair

RATE_MBPS, DELAY_MS, LATER_MS, SECONDS = 10, 5, 5, 3.0
PORT = 5003
SCENARIO = f"""\
name = "late"
[fabric]
kind = "graph"
link = {{ rate = "1 Gbps", delay = "1 us", buffer = "4 MB", ecn = "off" }}
edge = [
    {{ from = "h0", to = "a" }},
    {{ from = "a", to = "b", rate = "{RATE_MBPS} Mbps", buffer = "300 KB" }},
    {{ from = "b", to = "early", delay = "{DELAY_MS} ms" }},
    {{ from = "b", to = "late", delay = "{DELAY_MS + LATER_MS} ms" }},
    {{ from = "early", to = "c" }},
    {{ from = "late", to = "c" }},
    {{ from = "h1", to = "c" }},
]
[routing]
balance = "spray"
[[traffic]]
kind = "once"
pattern = {{ pairs = [[0, 1]] }}
sizes = "1 GB"
[transport]
kind = "cubic"
rack = true
min_rto = "200 ms"
initial_rto = "1 s"
ack_delay = "40 ms"
[stop]
at = "{SECONDS} s"
"""


def simulated(dsack: bool) -> float:
    """Share of its segments that the simulator sends again."""
    run = _core.Scenario(SCENARIO, "late", [("transport.dsack", str(dsack).lower())]).run()
    assert sum(run.flows["reordered_packets"]) > 20
    return float(sum(run.flows["retransmitted_packets"]) / sum(run.flows["sent_packets"]))


def measured(learns: bool) -> float:
    """Share of its segments that the kernel sends again."""
    sysctls = {f"net.ipv4.{key}": str(int(learns)) for key in ("tcp_dsack", "tcp_timestamps")}
    with late_pair(RATE_MBPS, DELAY_MS, LATER_MS, sysctls) as (source, target):
        with inside(target.namespace):
            listener = socket.create_server((target.address, PORT))
        with inside(source.namespace):
            sender = socket.socket()
        listener.settimeout(20)
        sender.settimeout(20)
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        with listener, sender:
            sender.connect((target.address, PORT))
            receiver, _ = listener.accept()
            with receiver:
                reader = threading.Thread(target=drain, args=(receiver,), daemon=True)
                reader.start()
                ends_at = time.monotonic() + SECONDS
                while time.monotonic() < ends_at:
                    sender.send(bytes(1 << 16))
                counters = tcp_info.sent(sender)
                sender.shutdown(socket.SHUT_WR)
                reader.join(timeout=20)
    assert counters.reordered > 20
    return counters.retransmitted / counters.packets


def drain(end: socket.socket) -> None:
    """Reads until the other end has closed."""
    end.settimeout(20)
    while end.recv(1 << 16):
        pass


def test_a_sender_that_learns_of_duplicates_sends_little_again_in_linux_as_in_the_simulator() -> None:
    assert simulated(dsack=True) < 0.02
    assert measured(learns=True) < 0.02


def test_a_sender_that_does_not_learn_of_them_sends_needlessly_again_in_linux_as_in_the_simulator() -> None:
    assert simulated(dsack=False) > 0.03
    assert measured(learns=False) > 0.03
