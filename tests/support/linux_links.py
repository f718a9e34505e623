"""Links of a namespace of its own, and plans for a Linux kernel to put on them."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from support.command import Run, anabranch

PLAN = """\
[[group]]
name = "to-leaf2"
match = { ip_dst = ["10.2.0.0/16", "10.3.0.0/24"] }
ports = ["e1", "e2", "e3"]
gateways = ["10.9.1.2", "10.9.2.2", ""]
weights = [4, 3, 2]
"""


def ip(*arguments: str) -> str:
    run = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def links(count: int = 3) -> None:
    ip("link", "set", "lo", "up")
    for number in range(1, count + 1):
        ip("link", "add", f"e{number}", "type", "veth", "peer", f"p{number}")
        ip("link", "set", f"e{number}", "up")
        ip("link", "set", f"p{number}", "up")
        ip("addr", "add", f"10.9.{number}.1/24", "dev", f"e{number}")
    for version in ("ipv4", "ipv6"):
        file = Path(f"/proc/sys/net/{version}/fib_multipath_hash_policy")
        if file.exists():
            file.write_text("1")


def busied() -> None:
    """Makes every bucket busy: 3,000 ports leave none of 32 out."""
    for number in (1, 2):
        # A packet whose gateway is not known yet would wait for it, and its sender with it.
        ip("neigh", "replace", f"10.9.{number}.2", "lladdr", "02:00:00:00:00:02", "dev", f"e{number}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for port in range(1000, 4000):
            sender.sendto(b"", ("10.2.0.9", port))


def on_linux(verb: str, plan: Path, *options: str) -> Run:
    return anabranch(verb, str(plan), "--target", "linux", *options)


def written(folder: Path, text: str) -> Path:
    file = folder / "plan.toml"
    file.write_text(text)
    return file
