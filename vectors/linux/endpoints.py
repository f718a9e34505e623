"""The two ends of one TCP connection: `endpoints.py serve ADDRESS PORT`, `endpoints.py send ADDRESS PORT SECONDS`.

The sender writes as fast as it may and prints `ms,window_segments,threshold_segments,rtt_us,acked_bytes` every 50 ms,
from the kernel's own TCP_INFO. `endpoints.py leave ADDRESS PORT` sends until HyStart has ended slow start and prints
`rtt_us,window_segments`: the least round trip so far, and the window that the kernel's counters saw then.
"""

from __future__ import annotations

import socket
import struct
import sys
import time
from pathlib import Path

SAMPLE_S = 0.05
SILENCE_S = 60
# Of linux/socket.h; Python has no name for it.
SO_SNDBUFFORCE = 32
# struct tcp_info of linux/tcp.h: eight bytes of states, then 24 numbers of 32 bits, then of 64.
RTT, THRESHOLD, WINDOW = 15, 17, 18
ACKED_OFFSET = 8 + 24 * 4 + 2 * 8
# After it: segments out and in, bytes not sent.
LEAST_RTT_OFFSET = ACKED_OFFSET + 2 * 8 + 3 * 4
# All that is sent fits, so that the kernel alone decides when.
LEAVE_BYTES = 4 << 20
LEAVE_S = 10.0


def serve(address: str, port: int) -> None:
    """Takes one connection and all it brings."""
    with socket.create_server((address, port)) as listening:
        listening.settimeout(SILENCE_S)
        print("ready", flush=True)
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(SILENCE_S)
            while connection.recv(1 << 20):
                pass


def send(address: str, port: int, seconds: float) -> None:
    """Sends for so long under CUBIC and prints what the kernel says of it."""
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.connect((address, port))
        connection.setblocking(False)
        block = bytes(1 << 18)
        begin = time.monotonic()
        sample = 0
        while (now := time.monotonic() - begin) < seconds:
            if now >= sample * SAMPLE_S:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
                numbers = struct.unpack_from("<24I", info, 8)
                (acked,) = struct.unpack_from("<Q", info, ACKED_OFFSET)
                print(
                    round(now * 1000), numbers[WINDOW], min(numbers[THRESHOLD], 1 << 20), numbers[RTT], acked, sep=","
                )
                sample = int(now / SAMPLE_S) + 1
            try:
                while True:
                    connection.send(block)
            except BlockingIOError:
                time.sleep(0.001)


def left_at() -> int:
    """Windows at which HyStart ended slow starts in this network namespace, summed."""
    names, values = (
        line.split() for line in Path("/proc/net/netstat").read_text().splitlines() if line.startswith("TcpExt:")
    )
    counters = dict(zip(names, values, strict=True))
    return int(counters["TCPHystartTrainCwnd"]) + int(counters["TCPHystartDelayCwnd"])


def leave(address: str, port: int) -> None:
    """Sends under CUBIC until slow start ends."""
    with socket.socket() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
        connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 2 * LEAVE_BYTES)
        connection.settimeout(SILENCE_S)
        connection.connect((address, port))
        connection.sendall(bytes(LEAVE_BYTES))
        end = time.monotonic() + LEAVE_S
        while not (window := left_at()):
            if time.monotonic() > end:
                raise SystemExit("slow start did not end")
            time.sleep(0.01)
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        (least_rtt_us,) = struct.unpack_from("<I", info, LEAST_RTT_OFFSET)
        print(least_rtt_us, window, sep=",")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "leave":
        leave(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
