"""An Open vSwitch of one's own: daemons, database and sockets in one folder, and nothing of the system's touched."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from anabranch.deploy.targets.ovs import json_rpc
from anabranch.files.errors import AnabranchError
from anabranch.files.hints import install

SCHEMA = Path("/usr/share/openvswitch/vswitch.ovsschema")
DATABASE, SWITCH = "ovsdb-server", "ovs-vswitchd"
START_TIMEOUT_S, COMMAND_TIMEOUT_S = 60, 120
ENDED_BEFORE_HELLO = re.compile(r"connect(ing)? to .*\((Broken pipe|Connection reset by peer)\)")
"""Error of ovs-ofctl when a connection ended before anything was asked."""


class OpenVSwitch:
    """`ovsdb-server` and `ovs-vswitchd`.

    With `dummy`, datapath and ports exist in memory only, and no privilege is needed; a packet is put in by
    `appctl("netdev-dummy/receive", port, flow)`. Otherwise the userspace datapath (`datapath_type=netdev`) on the
    network devices of the namespace that `enter` (a command prefix) leads to.
    """

    def __init__(
        self,
        folder: Path,
        *,
        dummy: bool = False,
        enter: Sequence[str] = (),
        tso: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.dummy = dummy
        self._enter = list(enter)
        self._tso = tso
        """Whether segments pass whole; else offloads must be off at the ends, or TCP hangs (docs/lab.md)."""
        self._environment = os.environ | {
            name: str(folder) for name in ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        }
        self._environment |= environment or {}

    @property
    def database(self) -> str:
        """The address of OVSDB."""
        return f"unix:{self.folder}/db.sock"

    def openflow(self, bridge: str) -> str:
        """The address at which a bridge speaks OpenFlow."""
        return f"unix:{self.folder}/{bridge}.mgmt"

    @property
    def datapath_type(self) -> str:
        """The datapath type of the bridges."""
        return "dummy" if self.dummy else "netdev"

    def start(self) -> None:
        """Makes the database and starts both daemons.

        Raises:
            AnabranchError: Open vSwitch or its Python package is not installed, or a daemon does not start.

        """
        _streams()
        for program in (DATABASE, SWITCH, "ovsdb-tool", "ovs-vsctl"):
            if shutil.which(program) is None:
                raise AnabranchError(f"{program}: not on the PATH; apt install openvswitch-switch")
        if not (self.folder / "conf.db").exists():
            self._run("ovsdb-tool", "create", f"{self.folder}/conf.db", str(SCHEMA))
        self.start_database()
        self.vsctl("--no-wait", "init")
        if self._tso:
            # ovs-vswitchd reads this once, when it starts (ovs-vswitchd.conf.db(5)).
            self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true")
        self.start_switch()

    def start_database(self) -> None:
        """Starts `ovsdb-server` on the database as it is."""
        self._start(DATABASE, f"{self.folder}/conf.db", f"--remote=p{self.database}")

    def start_switch(self) -> None:
        """Starts `ovs-vswitchd`; the bridges of the database come up, without their OpenFlow tables."""
        self._start(SWITCH, self.database, *(["--enable-dummy=override", "--disable-system"] if self.dummy else []))

    def stop(self) -> None:
        """Ends both daemons and removes the devices that bridges made."""
        for daemon, how in ((SWITCH, ["exit", "--cleanup"]), (DATABASE, ["exit"])):
            if self.pid(daemon) is not None:
                self.appctl(*how, daemon=daemon)
                self._await_end(daemon)

    def kill(self, daemon: str) -> None:
        """Ends a daemon by SIGKILL, as a crash would."""
        pid = self.pid(daemon)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            self._await_end(daemon)

    def pid(self, daemon: str) -> int | None:
        """The daemon's process, if it runs."""
        try:
            # A daemon that ends may remove its file at any moment. Reading its entry in /proc gives ESRCH if it ends
            # after the entry was opened.
            pid = int((self.folder / f"{daemon}.pid").read_text())
            number, state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            return None
        # Without a process that reaps orphans, a daemon that has ended stays listed as a zombie, and holds its files
        # open while threads of it are left (proc_pid_stat(5): the state, and 17 fields on the number of threads).
        fields = state.split()
        ended = fields[0] == "Z" and int(fields[17]) <= 1
        return pid if number.endswith(f"({daemon[:15]}") and not ended else None

    def vsctl(self, *arguments: str) -> str:
        """Changes or asks the database."""
        return self._run("ovs-vsctl", f"--timeout={START_TIMEOUT_S}", f"--db={self.database}", *arguments)

    def ofctl(self, command: str, bridge: str, *arguments: str, options: Sequence[str] = (), given: str = "") -> str:
        """Asks or changes a bridge, as ovs-ofctl(8) does.

        Raises:
            AnabranchError: the bridge does not answer, or it refuses.

        """
        words = ("ovs-ofctl", "-O", "OpenFlow15", *options, command, self.openflow(bridge), *arguments)
        deadline = time.monotonic() + COMMAND_TIMEOUT_S
        run = self._finished(*words, given=given)
        # A switch ends a connection whose hello does not come within a second: of a client on a busy machine.
        while ENDED_BEFORE_HELLO.search(run.stderr) and time.monotonic() < deadline:
            run = self._finished(*words, given=given)
        return _output(run)

    def add_flows(self, bridge: str, flows: Sequence[str]) -> None:
        """Adds rules, written as ovs-ofctl(8) takes them, to a bridge; the next packet follows them."""
        self.ofctl("add-flows", bridge, "-", given="\n".join(flows))
        self.forget_flows()

    def forget_flows(self) -> None:
        """Empties the datapath's cache: else packets match flows of earlier rules until a revalidator has seen them.

        A barrier does not wait for that; on a busy machine it takes 100 ms and more.
        """
        self.appctl("revalidator/purge")

    def set_meter(self, bridge: str, meter: str) -> None:
        """Leaves a bridge one meter, written as ovs-ofctl(8) takes it, and none of the rules of those before."""
        self.ofctl("del-meters", bridge)
        self.ofctl("add-meter", bridge, meter)

    def meter_packets(self, bridge: str) -> tuple[int, int]:
        """Packets that came to the meters of a bridge, and packets that they dropped."""
        statistics = self.ofctl("meter-stats", bridge)
        came, dropped = (re.findall(rf"\b{count}:(\d+)", statistics) for count in ("packet_in_count", "packet_count"))
        return sum(map(int, came)), sum(map(int, dropped))

    def packet_out(self, bridge: str, packet: str) -> None:
        """Has a bridge send one packet, written as `ovs-ofctl packet-out` takes it (ovs-ofctl(8))."""
        self.ofctl("packet-out", bridge, packet)

    def appctl(self, command: str, *arguments: str, daemon: str = SWITCH) -> str:
        """Asks a daemon over its control socket.

        Raises:
            AnabranchError: it does not run, or it refuses.

        """
        pid = self.pid(daemon)
        if pid is None:
            raise AnabranchError(f"{daemon}: not running in {self.folder}; start it")
        stream = _streams()
        failed, connection = stream.open_block(
            stream.open(f"unix:{self.folder}/{daemon}.{pid}.ctl"), START_TIMEOUT_S * 1000
        )
        if failed:
            raise AnabranchError(f"{daemon}: its control socket does not answer: {os.strerror(failed)}")
        failed, reply = json_rpc.ask(connection, command, arguments, START_TIMEOUT_S * 1000)
        if failed or reply.error is not None:
            problem = reply.error if not failed else os.strerror(failed) if failed > 0 else "closed by the other end"
            raise AnabranchError(f"{daemon}: {command}: {problem.strip()}")
        return str(reply.result)

    def _start(self, *command: str) -> None:
        self._run(*self._enter, *command, "--detach", "--no-chdir", "--pidfile", "--log-file")

    def _await_end(self, daemon: str) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while self.pid(daemon) is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    def _run(self, *command: str) -> str:
        return _output(self._finished(*command))

    def _finished(self, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command,
                env=self._environment,
                input=given,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_S,
                # execve(2) closes them: locks of this process hold until the child has its own environment.
                close_fds=False,
            )
        except subprocess.TimeoutExpired:
            raise AnabranchError(f"{' '.join(command)}: no end after {COMMAND_TIMEOUT_S} s") from None


def _output(run: subprocess.CompletedProcess[str]) -> str:
    if run.returncode:
        raise AnabranchError(f"{' '.join(run.args)}: {run.stderr.strip() or run.returncode}")
    return run.stdout


def _streams() -> Any:
    """Class of connections to daemons, imported when daemons start: studies name this module without a switch."""
    try:
        from ovs.stream import Stream
    except ModuleNotFoundError as error:
        raise AnabranchError(f"{error.name}: missing; {install('switches')}") from None
    return Stream
