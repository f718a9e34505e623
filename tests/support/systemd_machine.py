"""A machine in namespaces of its own whose first process is systemd: services start there as at any boot.

Files stay from one boot to the next (units, `/var/lib`, the test's folder); processes, devices, `/run` and the BPF
file system do not.
"""

from __future__ import annotations

import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.needs import brings
from support.waiting import DEADLINE_S, wait

SYSTEMD = Path("/lib/systemd/systemd")
REPOSITORY = Path(__file__).parents[2]
NO_MACHINE = 77
TARGETS = {
    "sysinit.target": "",
    "basic.target": "Requires=sysinit.target\nAfter=sysinit.target\n",
    "network.target": "",
    "shutdown.target": "DefaultDependencies=no\n",
    "multi-user.target": "Requires=basic.target\nAfter=basic.target\nAllowIsolate=yes\n",
}
"""All that there is beside what a test installs; the machine's own units stay out."""
OUTER = """
mount -t cgroup2 cgroup2 "$1/cgroup" || exit 77
group=$(mktemp -d "$1/cgroup/anabranch-test-XXXXXXXX") && echo $$ >"$group/cgroup.procs" || exit 77
unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child --mount-proc bash "$1/boot.sh" "$1"
echo $$ >"$1/cgroup/cgroup.procs"
find "$group" -depth -type d -exec rmdir {} +
"""
BOOT = """
set -e
folder="$1"
mount -t tmpfs -o mode=755 tmpfs /run
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t bpf -o mode=700 bpf /sys/fs/bpf
mount --bind "$folder/lib" /lib/systemd/system
# They would make units of /etc/init.d and /etc/fstab.
mount -t tmpfs tmpfs /lib/systemd/system-generators
mount --bind "$folder/etc" /etc/systemd/system
mount --bind "$folder/var" /var/lib
ip link set lo up
. "$folder/open.sh"
. "$folder/devices.sh"
exec env -i container=test "PATH=$PATH" "$SYSTEMD" --system --unit=multi-user.target --log-target=console \\
    --log-level=warning --show-status=no
"""


class Machine:
    """One machine, on or off.

    Args:
        folder: files of it.
        devices: commands that make its network devices at each boot, before the first process.

    """

    def __init__(self, folder: Path, devices: str) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._first = 0
        folder.chmod(0o755)
        for name in ("cgroup", "lib", "etc", "var"):
            (folder / name).mkdir()
        for name, lines in TARGETS.items():
            (folder / "lib" / name).write_text(f"[Unit]\nDescription={name}\n{lines}")
        (folder / "boot.sh").write_text(BOOT)
        (folder / "outer.sh").write_text(OUTER)
        (folder / "devices.sh").write_text(devices)
        (folder / "open.sh").write_text(_opened([folder, Path(sys.base_prefix), Path(sys.prefix), REPOSITORY]))

    def boot(self) -> None:
        """Starts it, and waits until systemd has started what it is to start."""
        with (self.folder / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "private", "bash", "outer.sh", str(self.folder)],
                cwd=self.folder,
                env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SYSTEMD": str(SYSTEMD)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait(self._is_up, self.console)

    def off(self) -> None:
        """Cuts the power."""
        if self._process is None:
            return
        if self._first:
            subprocess.run(["kill", "-KILL", str(self._first)], check=False)
        else:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait(DEADLINE_S)
        self._process, self._first = None, 0

    def console(self) -> str:
        """Messages of systemd so far."""
        return (self.folder / "console.log").read_text()

    def run(self, *command: str, status: int = 0) -> str:
        """Runs a command there as root, which ends with a status; what it printed."""
        run = self.tried(*command)
        assert run.returncode == status, f"{command}: {run.returncode}\n{run.stdout}{run.stderr}\n{self.console()}"
        return run.stdout

    def tried(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command there as root."""
        return subprocess.run(
            ["nsenter", "--target", str(self._first), "--all", "--", *command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def python(self, source: str, *arguments: str) -> str:
        """Runs a program of Python there."""
        return self.run(sys.executable, "-c", source, *arguments)

    def anabranch(self, *arguments: str, status: int = 0) -> str:
        """Runs anabranch there."""
        return self.run(sys.executable, "-m", "anabranch", *arguments, status=status)

    def installed(self, *arguments: str, lines: str = "") -> str:
        """Has anabranch install a unit, with `lines` of a drop-in; its name. Its output goes to `NAME.log`."""
        said = self.anabranch("install", "--systemd", *arguments)
        name = Path(said.partition(".service:")[0]).name
        extra = self.folder / "etc" / f"{name}.service.d"
        extra.mkdir(exist_ok=True)
        log = self.folder / f"{name}.log"
        log.touch()
        log.chmod(0o666)
        output = f"StandardOutput=append:{log}\nStandardError=append:{log}\n"
        (extra / "test.conf").write_text(f"[Service]\n{output}{lines}\n")
        self.run("systemctl", "daemon-reload")
        return name

    def enabled(self, name: str) -> None:
        """Enables and starts a unit, and returns when systemd says that it is ready."""
        self.run("systemctl", "enable", "--now", name)

    def show(self, name: str, key: str) -> str:
        """A property of a unit."""
        return self.run("systemctl", "show", "--value", "--property", key, name).strip()

    def log(self, name: str) -> str:
        """Output of a unit's program so far."""
        return (self.folder / f"{name}.log").read_text()

    def _is_up(self) -> bool:
        assert self._process is not None
        status = self._process.poll()
        if status == NO_MACHINE:
            pytest.skip(f"no machine of its own: {self.console().strip()}")
        assert status is None, self.console()
        if not self._first:
            self._first = _first_process(self._process.pid)
        if not self._first:
            return False
        state = self.tried("systemctl", "is-system-running").stdout.strip()
        return state in {"running", "degraded"}


@brings("root")
@contextmanager
def machine(folder: Path, devices: str = "") -> Iterator[Machine]:
    """One that is on; skips the test where there is no systemd."""
    if not SYSTEMD.exists() or not shutil.which("systemctl"):
        pytest.skip("systemd is missing: apt install systemd")
    made = Machine(folder, devices)
    try:
        made.boot()
        yield made
    finally:
        made.off()


def _first_process(outer: int) -> int:
    """Process that `unshare` of the outer script has started, once it is systemd; 0 before."""
    started = [child for unsharing in _children(outer) for child in _children(unsharing)]
    return next((child for child in started if _name(child) == "systemd"), 0)


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return ""


def _children(process: int) -> list[int]:
    try:
        return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _opened(paths: list[Path]) -> str:
    """Commands after which anybody may pass to some folders, where private ones are above them."""
    closed: dict[Path, list[Path]] = {}
    for path in paths:
        real = path.resolve()
        for parent in reversed(real.parents):
            if not parent.stat().st_mode & stat.S_IXOTH:
                closed.setdefault(parent, []).append(real)
                break
    lines = ["mkdir -p /run/open"]
    every = [path for below in closed.values() for path in below]
    for number, path in enumerate(every):
        lines += [f"mkdir /run/open/{number}", f"mount --bind '{path}' /run/open/{number}"]
    lines += [f"mount -t tmpfs -o mode=755 tmpfs '{parent}'" for parent in closed]
    for number, path in enumerate(every):
        lines += [f"mkdir -p '{path}'", f"mount --move /run/open/{number} '{path}'"]
    return "\n".join(lines) + "\n"
