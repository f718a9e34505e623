"""Routers that run FRR, each in a network namespace of its own: zebra and bgpd, as `anabranch plan` configures them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from anabranch.deploy.netlink import kernel
from anabranch.deploy.netlink.connection import Connection
from anabranch.deploy.netlink.multipath import weighted_routes
from anabranch.deploy.netlink.namespace import inside
from support.command import Run, anabranch
from support.needs import brings
from support.waiting import wait

DAEMONS = Path("/usr/lib/frr")
DEFAULT_SOCKETS = "/run/frr"
FORWARDING = {
    "net/ipv4/ip_forward": "1",
    "net/ipv6/conf/all/forwarding": "1",
    "net/ipv4/fib_multipath_hash_policy": "1",
    "net/ipv6/fib_multipath_hash_policy": "1",
}
MAIN_TABLE = 254


def need_frr() -> None:
    """Skips the test where FRR is missing."""
    if not (DAEMONS / "bgpd").exists() or not shutil.which("vtysh"):
        pytest.skip("bgpd is missing: apt install frr")


def run(*command: str) -> str:
    """Standard output of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}{done.stdout}"
    return done.stdout


@dataclass(frozen=True)
class Router:
    """One router."""

    name: str
    namespace: str
    sockets: Path
    """Folder of its daemons' sockets and process numbers."""

    def ip(self, *arguments: str) -> str:
        """Runs `ip` in its namespace."""
        return run("ip", "-n", self.namespace, *arguments)

    def start(self, *daemons: str) -> None:
        """Starts daemons without a configuration."""
        for daemon in daemons:
            sockets = ["-i", f"{self.sockets}/{daemon}.pid", "-z", f"{self.sockets}/zserv", "--vty_socket"]
            common = [*sockets, str(self.sockets), "-P", "0", "--log", f"file:{self.sockets}/{daemon}.log"]
            run("ip", "netns", "exec", self.namespace, str(DAEMONS / daemon), "-d", "-f", "/dev/null", *common)

    def kill(self, daemon: str) -> None:
        """Kills a daemon at once, so that it says nothing to its neighbours."""
        os.kill(int((self.sockets / f"{daemon}.pid").read_text()), signal.SIGKILL)

    def configure(self, file: Path) -> None:
        """Loads a configuration."""
        run("vtysh", "--vty_socket", str(self.sockets), "-f", str(file))

    def vtysh(self, *commands: str) -> str:
        """What commands answer."""
        given = [word for command in commands for word in ("-c", command)]
        return run("vtysh", "--vty_socket", str(self.sockets), *given)

    def shell(self, script: str, folder: Path) -> Run:
        """Runs a script on this router, with FRR's sockets where they are by default."""
        where = f"mkdir -p {DEFAULT_SOCKETS} && mount --bind {self.sockets} {DEFAULT_SOCKETS}\n"
        inside_of = ("ip", "netns", "exec", self.namespace, "unshare", "--mount", "bash", "-e", "-c", where + script)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
        done = subprocess.run(inside_of, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return Run(done.returncode, done.stdout, done.stderr)

    def split(self, prefix: str) -> dict[str, int]:
        """Weight by device of the kernel's best route of a prefix; empty without one."""
        with inside(self.namespace), Connection() as connection:
            routes = weighted_routes(connection, kernel.devices(connection))
        listed = [one for one in routes if str(one.route.prefix) == prefix and one.route.table == MAIN_TABLE]
        return dict(min(listed, key=lambda one: one.route.metric).weights) if listed else {}

    def wait_for(self, prefix: str, expected: dict[str, int]) -> None:
        """Waits until the kernel splits so."""
        wait(lambda: self.split(prefix) == expected, lambda: f"{self.name} {prefix}: {self.split(prefix)}")

    def anabranch(self, *arguments: str) -> Run:
        """Runs a command line in its namespace."""
        with inside(self.namespace):
            return anabranch(*arguments)

    def compare(self, verb: str, plan: Path, *arguments: str) -> Run:
        """Runs `diff` or `verify` for this router."""
        return self.anabranch(verb, str(plan), "--target", "frr", "--vty-socket", str(self.sockets), *arguments)


@contextmanager
def routers(
    links: list[tuple[str, str]], prefixes: dict[str, list[str]], bare: Sequence[str] = ()
) -> Iterator[dict[str, Router]]:
    """Routers whose devices have their neighbours' names, with addresses on `lo`; nothing is configured yet.

    Args:
        links: pairs of routers.
        prefixes: of each leaf; it has the first address of each.
        bare: routers on which no daemon is started.

    """
    _need_root()
    need_frr()
    folder = Path(tempfile.mkdtemp(prefix="frr-", dir="/run"))
    names = list(dict.fromkeys(name for link in links for name in link))
    by_name = {name: Router(name, f"{folder.name}-{name}", folder / name) for name in names}
    try:
        for router in by_name.values():
            router.sockets.mkdir()
            run("ip", "netns", "add", router.namespace)
            settings = [f"{key.replace('/', '.')}={value}" for key, value in FORWARDING.items()]
            run("ip", "netns", "exec", router.namespace, "sysctl", "-qw", *settings)
            router.ip("link", "set", "lo", "up")
        for one, other in links:
            peer = ("peer", "name", one, "netns", by_name[other].namespace)
            run("ip", "link", "add", other, "netns", by_name[one].namespace, "type", "veth", *peer)
            by_name[one].ip("link", "set", other, "up")
            by_name[other].ip("link", "set", one, "up")
        for leaf, listed in prefixes.items():
            for prefix in listed:
                network, _, length = prefix.partition("/")
                first = f"{network}1" if ":" in network else network.removesuffix("0") + "1"
                by_name[leaf].ip("addr", "add", f"{first}/{length}", "dev", "lo")
        run("chown", "-R", "frr:frr", str(folder))
        folder.chmod(0o755)
        with ThreadPoolExecutor() as pool:
            started = [router for name, router in by_name.items() if name not in bare]
            list(pool.map(lambda router: router.start("zebra", "bgpd"), started))
        yield by_name
    finally:
        for router in by_name.values():
            for file in router.sockets.glob("*.pid"):
                with suppress(ProcessLookupError):
                    os.kill(int(file.read_text()), signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", router.namespace], capture_output=True, check=False)
        shutil.rmtree(folder, ignore_errors=True)


def each(routers: dict[str, Router], do: Callable[[Router], None]) -> None:
    """Does something with all routers at once."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(do, routers.values()))


@brings("root")
def _need_root() -> None:
    """Skips the test without privileges."""
    if os.geteuid() != 0:
        pytest.skip("root needed for network namespaces")
