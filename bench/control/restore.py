"""Time from a carrier that is back to the nexthop group that has its member again: run as root, on an idle machine.

Two links of a namespace lead to another one; the far end of one goes down and up. A group of both is kept by

* `apply --target linux --follow`, on a plan of one group;
* `control`, on a fabric whose leaf is that namespace; the other switches are tables in files;
* `control`, which reaches that leaf through `anabranch agent`, over TLS at the namespace's loopback.

The time is from just before the far end is set up, which gives the link its carrier, to the kernel's announcement of
the group with both members: an upper bound. Nothing is polled.
"""

from __future__ import annotations

import argparse
import fcntl
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.announcements import Announcements
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.namespace import inside
from anabranch.deploy.targets.linux.observe import PROTOCOL

LINKS = ("leaf0-spine0", "leaf0-spine1")
DEADLINE_S = 60.0
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
PLAN = """[[group]]
name = "leaf1"
match = { ip_dst = "10.1.1.0/24" }
ports = ["leaf0-spine0", "leaf0-spine1"]
gateways = ["10.9.0.2", "10.9.1.2"]
weights = [1, 1]
buckets = 1024
"""
FABRIC = """[fabric]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 1
[listen]
http = "off"
[damping]
use = false
[leaf.leaf1]
prefixes = ["10.1.1.0/24"]
[switch.leaf0]
datapath = "linux"
{where}
ports = {{ host0 = "lo", spine0 = "leaf0-spine0", spine1 = "leaf0-spine1" }}
gateways = {{ spine0 = "10.9.0.2", spine1 = "10.9.1.2" }}
"""
FOLLOWERS = ("apply --follow", "control", "control, agent")
AGENT = "ssl:127.0.0.1:6655"
NEW_KEY = ("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
OTHERS = {"leaf1": ("host1", "spine0", "spine1"), "spine0": ("leaf0", "leaf1"), "spine1": ("leaf0", "leaf1")}


def main() -> None:
    """Measures all followers, and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=30)
    trials = parser.parse_args().trials
    table = Table(box=None, pad_edge=False)
    for heading in ("follower", "trials", "median (ms)", "worst (ms)"):
        table.add_column(heading, justify="left" if heading == "follower" else "right")
    for name in FOLLOWERS:
        with world() as (near, far), tempfile.TemporaryDirectory() as folder, follower(name, near, Path(folder)):
            times_s = [restored_s(near, far) for _ in range(trials)]
        table.add_row(name, str(trials), f"{1e3 * median(times_s):.1f}", f"{1e3 * max(times_s):.1f}")
    Console(highlight=False).print(table)


@contextmanager
def world() -> Iterator[tuple[str, str]]:
    """Files of two namespaces with the links between them."""
    processes = [subprocess.Popen(["unshare", "--net", "sleep", "600"]) for _ in range(2)]
    near, far = (f"/proc/{process.pid}/ns/net" for process in processes)
    try:
        mine = Path("/proc/thread-self/ns/net").readlink()
        await_that(lambda: all(Path(one).readlink() != mine for one in (near, far)))
        for number, link in enumerate(LINKS):
            ip(near, f"link add {link} type veth peer name far{number} netns {processes[1].pid}")
            ip(near, f"addr add 10.9.{number}.1/24 dev {link}")
            ip(near, f"link set {link} up")
            ip(far, f"link set far{number} up")
        ip(near, "link set lo up")
        yield near, far
    finally:
        for process in processes:
            process.kill()
            process.wait(DEADLINE_S)


@contextmanager
def follower(name: str, near: str, folder: Path) -> Iterator[None]:
    """Runs one until the block ends; the group is there when it begins."""
    file = folder / "file.toml"
    arguments = ["control", str(file)]
    by_agent = name == FOLLOWERS[-1]
    if by_agent:
        files = certificates(folder)
        file.write_text(fabric(f'agent = "{AGENT}"', folder) + "[tls]\n" + "\n".join(f'{k} = "{v}"' for k, v in files))
    elif name == "control":
        file.write_text(fabric(f'namespace = "{near}"', folder))
    else:
        file.write_text(PLAN)
        arguments = ["apply", str(file), "--target", "linux", "--follow"]
    with ExitStack() as stack:
        if by_agent:
            stack.enter_context(running(near, "agent", AGENT, *(f"--{key}={value}" for key, value in files)))
        process = stack.enter_context(running(near, *arguments))
        with inside(near), Connection() as connection:
            await_that(lambda: members(connection) == len(LINKS) or process.poll() is not None)
        if process.poll() is not None:
            raise SystemExit(f"{' '.join(arguments)}: ended with status {process.returncode}")
        yield


@contextmanager
def running(near: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs `anabranch` in the near namespace until the block ends."""
    command = [sys.executable, "-m", "anabranch", *arguments]
    with inside(near):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(DEADLINE_S)


def certificates(folder: Path) -> list[tuple[str, Path]]:
    """Key, certificate and authority, all in one, for both ends."""
    key, certificate = folder / "both.key", folder / "both.pem"
    command = [*NEW_KEY, "-x509", "-days", "2", "-subj", "/CN=both", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)
    return [("key", key), ("certificate", certificate), ("authority", certificate)]


def fabric(where: str, folder: Path) -> str:
    """The fabric file: `leaf0` is the namespace, by the key that says where; the others are tables."""
    text = FABRIC.format(where=where)
    for switch, neighbours in OTHERS.items():
        ports = ", ".join(f'{one} = "{one}"' for one in neighbours)
        text += f'[switch.{switch}]\ndatapath = "table"\nfolder = "{folder / switch}"\nports = {{ {ports} }}\n'
    return text


def restored_s(near: str, far: str) -> float:
    """Time of one trial."""
    with inside(near):
        announcements, connection = Announcements(PROTOCOL, frozenset()), Connection()
    with inside(far):
        control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with announcements, connection, control:
        waiting = select.poll()
        waiting.register(announcements, select.POLLIN)
        ip(far, "link set far1 down")
        await_that(lambda: members(connection) == 1)
        announcements.read()
        begun_s = time.monotonic()
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", b"far1", IFF_UP))
        while members(connection) < len(LINKS):
            if not waiting.poll(1e3 * DEADLINE_S):
                raise SystemExit("the group did not get its member back")
            announcements.read()
        return time.monotonic() - begun_s


def members(connection: Connection) -> int:
    """Members of the largest group."""
    _, groups = kernel.nexthops(connection, kernel.devices(connection))
    return max((len(group.members) for group in groups), default=0)


def await_that(true: Callable[[], bool]) -> None:
    """Waits until something holds, which is not measured."""
    deadline = time.monotonic() + DEADLINE_S
    while not true():
        if time.monotonic() > deadline:
            raise SystemExit("what was waited for did not come")
        time.sleep(0.005)


def ip(namespace: str, words: str) -> None:
    """Runs `ip` in a namespace."""
    subprocess.run(["nsenter", f"--net={namespace}", "ip", *words.split()], check=True, timeout=DEADLINE_S)


if __name__ == "__main__":
    main()
