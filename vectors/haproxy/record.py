"""Records which server HAProxy picks under `hash-type consistent`: `python3 vectors/haproxy/record.py [HAPROXY]`.

One server of the same program answers for all; the name of the picked one comes back in a header. Weights change, and a
server leaves, over the program's own socket.
"""

from __future__ import annotations

import csv
import http.client
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
KEYS = 300
DEADLINE_S = 10.0
GROUPS = ([5, 1, 2, 3], [7, 46, 72, 40, 93, 100, 21, 2, 33, 34, 85, 58, 64, 11, 90, 17, 76, 3, 29, 50])


def configuration(weights: list[int], folder: Path, front: int, origin: int) -> str:
    """A front end that hashes a header, over servers of these weights."""
    servers = "\n".join(f"  server s{i} 127.0.0.1:{origin} weight {weight}" for i, weight in enumerate(weights))
    return f"""global
  stats socket {folder}/socket level admin
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend origin
  bind 127.0.0.1:{origin}
  http-request return status 200 content-type text/plain string ok
frontend front
  bind 127.0.0.1:{front}
  default_backend group
backend group
  balance hdr(x-key)
  hash-type consistent sdbm avalanche
  http-response set-header x-server %[srv_name]
{servers}
"""


def tell(folder: Path, command: str) -> None:
    """Sends a command over the program's socket; it says nothing if it has obeyed."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(DEADLINE_S)
        link.connect(str(folder / "socket"))
        link.sendall(f"{command}\n".encode())
        answer = link.recv(4096).decode().strip()
    if answer:
        raise SystemExit(f"haproxy: {command}: {answer}")


def picks(front: int) -> list[tuple[str, int]]:
    """The server of each key."""
    link = http.client.HTTPConnection("127.0.0.1", front, timeout=DEADLINE_S)
    picked = []
    for number in range(KEYS):
        key = f"client-{number}"
        link.request("GET", "/", headers={"x-key": key})
        answer = link.getresponse()
        answer.read()
        picked.append((key, int(answer.headers["x-server"][1:])))
    link.close()
    return picked


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(front: int) -> None:
    """Waits until the program listens."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        with socket.socket() as link:
            link.settimeout(DEADLINE_S)
            if link.connect_ex(("127.0.0.1", front)) == 0:
                return
        if time.monotonic() > deadline:
            raise SystemExit("haproxy: does not listen")
        time.sleep(0.05)


def record(weights: list[int], program: str, folder: Path) -> list[tuple[str, str, int]]:
    """Rows of a group: its weights, a key, the server."""
    front, origin = free_port(), free_port()
    (folder / "haproxy.cfg").write_text(configuration(weights, folder, front, origin))
    running = subprocess.Popen([program, "-db", "-f", str(folder / "haproxy.cfg")])
    rows: list[tuple[str, str, int]] = []
    now = list(weights)

    def take() -> None:
        rows.extend((":".join(map(str, now)), key, server) for key, server in picks(front))

    try:
        wait_for(front)
        take()
        now[2] += 4
        tell(folder, f"set server group/s2 weight {now[2]}")
        take()
        now[1] = 0
        tell(folder, "set server group/s1 state maint")
        take()
    finally:
        running.terminate()
        running.wait(DEADLINE_S)
    return rows


def main() -> None:
    """Writes `picks.csv`."""
    program = sys.argv[1] if len(sys.argv) > 1 else "haproxy"
    rows = []
    for weights in GROUPS:
        with tempfile.TemporaryDirectory() as folder:
            rows += record(weights, program, Path(folder))
    with (HERE / "picks.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["weights", "key", "server"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
