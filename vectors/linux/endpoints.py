"""The two ends of one TCP connection: `endpoints.py serve ADDRESS PORT`, `endpoints.py send ADDRESS PORT SECONDS`.

The sender writes as fast as it may and prints `ms,window_segments,threshold_segments,rtt_us,acked_bytes` every 50 ms,
from the kernel's own TCP_INFO.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

SAMPLE_S = 0.05
SILENCE_S = 60
# struct tcp_info of linux/tcp.h: eight bytes of states, then 24 numbers of 32 bits, then of 64.
RTT, THRESHOLD, WINDOW = 15, 17, 18
ACKED_OFFSET = 8 + 24 * 4 + 2 * 8


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


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]))
    else:
        send(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
