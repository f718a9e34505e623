"""A fabric of real switches and hosts on this machine: made from a scenario, found again by its name, and removed."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anabranch import _core
from anabranch.deploy.targets.registry import DEFAULT
from anabranch.files.atomic_file import write_whole
from anabranch.files.errors import AnabranchError
from anabranch.files.toml_document import parse_toml
from anabranch.lab.fabric import build, iproute, record, shaping
from anabranch.lab.fabric.blueprint import LAB_NAME, Blueprint, Cable, End, Host, draw, enter, scaled
from anabranch.lab.fabric.fabric_file import fabric_file
from anabranch.lab.fabric.machine import check_machine
from anabranch.lab.fabric.record import Record
from anabranch.lab.fabric.switching import Switching, remove_rest, switching
from anabranch.simulate.runs.load import read_text

LOCAL, PORTS = "127.0.0.1", range(20_000, 32_000)
"""Below those that Linux gives to connections by itself (ip_local_port_range of ip-sysctl.rst): none of these can have
a controller's port before it listens."""


@dataclass
class Lab:
    """A lab that stands."""

    record: Record
    blueprint: Blueprint
    switching: Switching

    @classmethod
    def up(
        cls,
        scenario_file: Path,
        name: str | None = None,
        *,
        scale: float = 1.0,
        switch: str = DEFAULT,
        tso: bool = False,
        bfd_ms: int | None = None,
        parent: str = "",
        mark: str = "",
        progress: build.Progress | None = None,
    ) -> Lab:
        """Makes the fabric of a scenario; one that stands already stays as it is.

        Args:
            scenario_file: the scenario.
            name: what to call the lab; the file's name if left out.
            scale: factor on all rates.
            switch: kind of the switches (`switching.kinds`).
            tso: let packets pass Open vSwitch unsegmented: more bits a second, but nothing like a real link.
            bfd_ms: interval of BFD between switches, for what fails silently.
            parent: the lab that this one is made for; `remove` of that one removes this one too.
            mark: of what runs in it (`record.new_mark`), by which its maker knows it again; a new one if left out.
            progress: told how many of how many hosts and switches are there.

        Raises:
            AnabranchError: the scenario cannot be built, a privilege or a program lacks, or another lab has the name.

        """
        scenario_file = Path(scenario_file).absolute()
        text = read_text(scenario_file)
        name = name or default_name(scenario_file)
        if not 0 < scale <= 1:
            raise AnabranchError(f"scale: {scale:g}: not above 0 and at most 1; take less")
        blueprint = draw(name, topology_of(text, str(scenario_file)), scale)
        desired = Record(
            name=name,
            scenario_file=str(scenario_file),
            scenario=text,
            scale=scale,
            tso=tso,
            bfd_ms=bfd_ms,
            mark=mark or record.new_mark(name),
            http=f"{LOCAL}:{_free_port()}",
            namespaces=tuple(blueprint.namespaces),
            switch=switch,
            parent=parent,
        )
        lab = cls(desired, blueprint, switching(desired, blueprint))
        lab.switching.check()
        lab.switching.check_machine()
        with record.locked(name, make=True):
            present = record.read(name)
            if present is not None and present.complete:
                if replace(desired, mark=present.mark, http=present.http, complete=True) != present:
                    raise AnabranchError(f"lab {name}: up with something else; `anabranch lab down {name}` first")
                lab = cls(present, blueprint, switching(present, blueprint))
                lab.start_switch()
                return lab
            if present is not None:
                _remove(present.namespaces, present.mark)
                record.clear(name)
            clash = sorted(iproute.present() & set(desired.namespaces))
            if clash:
                record.forget(name)
                raise AnabranchError(f"lab {name}: namespace {clash[0]} is there already; take another name")
            try:
                lab._build(progress)
            except BaseException:
                _remove(desired.namespaces, desired.mark)
                record.forget(name)
                raise
            return lab

    @classmethod
    @contextmanager
    def temporary(cls, scenario_file: Path, name: str, **choices: Any) -> Iterator[Lab]:
        """A lab that is removed when the block ends, if it was made for it: one that stood before stands afterwards.

        Wherever a signal ends the block, in the moment in which the lab is whole too, nothing of it stays.

        Args:
            scenario_file: As of `up`.
            name: As of `up`.
            choices: What `up` takes besides.

        Raises:
            AnabranchError: as `up` and `remove`.

        """
        mark = record.new_mark(name)
        try:
            yield cls.up(scenario_file, name, mark=mark, **choices)
        finally:
            created = record.read_created(name)
            if created is not None and created.mark == mark:
                remove(name)

    @classmethod
    def open(cls, name: str) -> Lab:
        """A lab that stands.

        Raises:
            AnabranchError: there is none, or it is not whole.

        """
        present = record.read(name)
        if present is None:
            labs = ", ".join(record.names()) or "none"
            raise AnabranchError(f"lab {name}: not up; there are: {labs}; `anabranch lab up` makes one")
        if not present.complete:
            raise AnabranchError(f"lab {name}: not whole; `anabranch lab down {name}` removes what there is of it")
        return cls.of(present)

    @classmethod
    def of(cls, present: Record) -> Lab:
        """The lab of a record that is complete.

        Raises:
            AnabranchError: its scenario is not as it must be.

        """
        blueprint = draw(present.name, topology_of(present.scenario, present.scenario_file), present.scale)
        return cls(present, blueprint, switching(present, blueprint))

    def down(self) -> None:
        """Removes all of it."""
        remove(self.record.name)

    @property
    def name(self) -> str:
        """Name of the lab."""
        return self.record.name

    @property
    def folder(self) -> Path:
        """Folder of its files; removed with the lab."""
        return self.record.folder

    @property
    def scale(self) -> float:
        """Factor on all rates of the scenario."""
        return self.record.scale

    @property
    def hosts(self) -> dict[str, Host]:
        """Hosts by the name of the node."""
        return self.blueprint.hosts

    @property
    def switches(self) -> list[str]:
        """Nodes, and bridges or datapaths of the same names."""
        return self.blueprint.switches

    @property
    def fabric_file(self) -> Path:
        """The fabric for `anabranch control`."""
        return self.folder / "fabric.toml"

    @property
    def switch_enter(self) -> list[str]:
        """Words to write before a command for it to run where the switches are."""
        return enter(self.blueprint.switch_namespace)

    def cable(self, a: str, b: str, parallel: int = 0) -> Cable:
        """The link between two nodes, in whatever order.

        Raises:
            AnabranchError: there is none.

        """
        for cable in self.blueprint.cables:
            if {cable.a.node, cable.b.node} == {a, b} and cable.parallel == parallel:
                return cable
        raise AnabranchError(f"lab {self.name}: {a}-{b}#{parallel}: no such link; `anabranch show` lists nodes")

    def interface(self, node: str, neighbour: str, parallel: int = 0) -> str:
        """The device at that end of a link.

        Raises:
            AnabranchError: there is no such link.

        """
        cable = self.cable(node, neighbour, parallel)
        return cable.a.device if cable.a.node == node else cable.b.device

    def set_link(
        self,
        a: str,
        b: str,
        *,
        up: bool | None = None,
        rate_bps: int | None = None,
        silent: bool | None = None,
        parallel: int = 0,
    ) -> None:
        """Takes a link down or up, gives both its directions another rate, or has it lose all frames without a word.

        Args:
            a: One end.
            b: The other.
            up: Whether it has a carrier.
            rate_bps: Of the lab, not of the scenario.
            silent: Whether all is lost while the carrier stays: only BFD finds out.
            parallel: Number among the links of the same two nodes.

        Raises:
            AnabranchError: there is no such link, or the kernel refuses.

        """
        cable = self.cable(a, b, parallel)
        if up is not None:
            # A host's own end stays up: taking it down would lose its routes; it has no carrier all the same.
            ends = [end for end in (cable.a, cable.b) if end.node not in self.hosts]
            state = "up" if up else "down"
            iproute.batch("ip", self.blueprint.switch_namespace, (f"link set dev {end.device} {state}" for end in ends))
        if rate_bps is not None:
            for end in (cable.a, cable.b):
                self.set_rate(end, rate_bps)
        if silent is not None:
            for end in (cable.a, cable.b):
                self._tc(end, shaping.room(end.device, end.buffer_bytes, silent=silent))

    def set_rate(self, end: End, rate_bps: int, burst_frames: int | None = None) -> None:
        """Gives one direction of a link another rate; where a switch sends, controllers learn of it (docs/control.md).

        With `burst_frames` it may send so many full frames at once to catch up, instead of what 1 ms takes: closer to a
        real link, and slower where timers are late.

        Raises:
            AnabranchError: the kernel refuses.

        """
        if rate_bps <= 0:
            raise AnabranchError(f"rate: {rate_bps} bps: not above 0; take the link down instead")
        self._tc(end, shaping.change(end.device, rate_bps, burst_frames))
        if end.node not in self.hosts:
            self.switching.rated(end.device, rate_bps)

    def _tc(self, end: End, line: str) -> None:
        host = self.hosts.get(end.node)
        iproute.batch("tc", host.namespace if host else self.blueprint.switch_namespace, [line])

    def start_switch(self) -> None:
        """Starts what has ended of its switches; rules of those that start anew are none.

        Raises:
            AnabranchError: it does not start.

        """
        self.switching.start()

    def scaled(self, rate_bps: float) -> int:
        """A rate of the scenario as the lab has it."""
        return scaled(rate_bps, self.scale)

    def _build(self, progress: build.Progress | None) -> None:
        record.write(self.record)
        build.build(self.blueprint, self.switching, mark=self.record.mark, tso=self.record.tso, progress=progress)
        write_whole(self.fabric_file, fabric_file(self.record, self.blueprint, self.switching))
        self.record = replace(self.record, complete=True)
        record.write(self.record)


def remove(name: str) -> bool:
    """Removes a lab, whole or not, everything that runs in it and the labs made for it; whether there was any.

    Raises:
        AnabranchError: a privilege lacks, or something cannot be removed.

    """
    if not LAB_NAME.fullmatch(name):
        raise AnabranchError(f"lab {name}: not the name of a lab; `anabranch lab list` has them")
    # Children go first: as long as one exists, it can be removed by its parent's name.
    removed = [_remove_one(each) for each in (*record.children(name), name)]
    return any(removed)


def _remove_one(name: str) -> bool:
    with record.locked(name) as is_present:
        if not is_present:
            return False
        check_machine()
        created = record.read_created(name)
        if created is not None:
            _remove(created.namespaces, created.mark)
        record.forget(name)
        return True


def _remove(namespaces: tuple[str, ...], mark: str) -> None:
    """Ends what runs in a lab, removes what its switches leave behind, then its namespaces."""
    iproute.end_inside(namespaces, mark)
    remove_rest(namespaces, mark)
    iproute.remove(namespaces)


def _free_port() -> int:
    """A TCP port that nobody has now or is to have: labs side by side have controllers side by side."""
    taken = set()
    for name in record.names():
        with suppress(AnabranchError):
            other = record.read(name)
            taken.add(other.http if other else "")
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as listener, suppress(OSError):
            listener.bind((LOCAL, port))
            if f"{LOCAL}:{port}" not in taken:
                return port
    raise AnabranchError(f"{LOCAL}: none of the ports {PORTS[0]} to {PORTS[-1]} is free; end what has them")


def default_name(scenario_file: Path) -> str:
    """Name of a lab made from its scenario's."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in scenario_file.stem.lower()).strip("-")[:40]


def topology_of(text: str, file: str) -> dict[str, Any]:
    """The topology of a scenario, or of a file with a fabric only.

    Raises:
        AnabranchError: it is not as it must be.

    """
    try:
        whole = "traffic" in parse_toml(text, file)
    except AnabranchError:
        # The reader of scenarios says where and what.
        whole = True
    return _core.Scenario(text, file).topology() if whole else _core.Fabric(text, file).topology()
