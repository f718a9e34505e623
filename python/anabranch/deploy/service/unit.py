"""A unit of systemd for one command of anabranch, with the rights that it needs and no others (systemd.exec(5))."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from anabranch.deploy.service.access import ANYBODY, Reader
from anabranch.deploy.service.needs import Needs
from anabranch.files.errors import AnabranchError
from anabranch.files.exit_status import STATUS_BAD_INPUT

PACKAGE = Path(__file__).parents[2]
ROOT = "root"
WATCHDOG_S = 30
RESTART_S = 1
PLAIN = re.compile(r"[\w@/.,:=+-]+", re.ASCII)
"""Arguments that need no quotes."""
NAME = re.compile(r"[A-Za-z0-9:_.-]{1,200}", re.ASCII)
HOMES, SHORT_LIVED = ("/home", "/root", "/run/user"), ("/tmp", "/var/tmp")


@dataclass(frozen=True)
class Service:
    """What a command says of itself that can run all the time."""

    title: str
    """What it is, for lists of services."""
    name: str
    """Name of its unit, unless another is given, without `.service`."""
    needs: Needs
    files: tuple[str, ...] = ()
    """Files that it reads, as the command line names them."""
    named: tuple[str, ...] = ()
    """Files that it reads, as one of these files names them."""
    reports_ready: bool = True
    """Whether it reports to systemd that it is ready."""
    is_watched: bool = False
    """Whether it reports that it is alive, too."""


def unit(service: Service, arguments: Sequence[str], *, name: str, user: str | None) -> str:
    """The unit's text.

    Args:
        service: the command.
        arguments: its verb and what follows; names of files among them become absolute.
        name: of the unit, without `.service`.
        user: who it runs as; None for root where the command needs that, else for a user of its own that systemd
            makes.

    Raises:
        AnabranchError: there is no such user, or it may not read what it has to; an argument with a line's end.

    """
    user = user or (ROOT if service.needs.as_root else None)
    program = [sys.executable, "-m", "anabranch"]
    own = [str(PACKAGE), sys.executable]
    files = [*map(_whole, (*service.files, *service.named))]
    reader = Reader.of(user) if user else ANYBODY
    for file in [*own, *files]:
        _refuse_closed(reader, file, writes=False)
    for file in service.needs.writes:
        _refuse_closed(reader, file, writes=True)
    command = [*program, *(_absolute(argument, service.files) for argument in arguments)]
    sections = {
        "Unit": _unit(service),
        "Service": [
            *_run(service, command),
            *_place(service),
            *_rights(service.needs, name, user),
            *_walls(service.needs, own, files),
        ],
        "Install": ["WantedBy=multi-user.target"],
    }
    text = "\n".join("\n".join([f"[{section}]", *lines, ""]) for section, lines in sections.items())
    return f"# Written by: anabranch install --systemd; own settings belong into {name}.service.d/*.conf.\n{text}"


def checked_name(name: str) -> str:
    """A unit's name.

    Raises:
        AnabranchError: systemd takes no such name.

    """
    if not NAME.fullmatch(name):
        raise AnabranchError(f"name: {name}: not the name of a unit; letters, digits, `-`, `_` and `.` are, by --name")
    return name


def _unit(service: Service) -> list[str]:
    after = sorted({"network.target", *service.needs.after})
    return [
        f"Description={service.title.replace('%', '%%')}",
        f"After={' '.join(after)}",
        # It goes on trying for ever, a second after the other.
        "StartLimitIntervalSec=0",
    ]


def _run(service: Service, command: Sequence[str]) -> list[str]:
    lines = ["Type=notify", "NotifyAccess=main"] if service.reports_ready else ["Type=exec"]
    lines += [f"ExecStart={' '.join(map(_argument, command))}"]
    # Programs that it starts at its end are not ended with it.
    lines += ["KillMode=mixed"]
    lines += [f"WatchdogSec={WATCHDOG_S}"] if service.is_watched else []
    # A file that is wrong is so the next time, too.
    return [*lines, "Restart=on-failure", f"RestartSec={RESTART_S}", f"RestartPreventExitStatus={STATUS_BAD_INPUT}"]


def _place(service: Service) -> list[str]:
    """Folder from which names in files count, if any does."""
    is_needed = not all(map(os.path.isabs, (*service.named, *service.needs.writes)))
    return [f"WorkingDirectory={str(Path.cwd()).replace('%', '%%')}"] if is_needed else []


def _rights(needs: Needs, name: str, user: str | None) -> list[str]:
    capabilities = " ".join(sorted(needs.capabilities))
    lines = ["DynamicUser=yes"] if user is None else [f"User={user}"]
    lines += [f"CapabilityBoundingSet={capabilities}"]
    # Root has those of the bounding set; others have what is ambient.
    lines += [] if user == ROOT else [f"AmbientCapabilities={capabilities}"]
    # Where `apply --confirm` looks for what waits: root's folder is one for all.
    lines += [f"RuntimeDirectory={'anabranch' if user == ROOT else name}", "RuntimeDirectoryPreserve=yes"]
    return [*lines, "NoNewPrivileges=yes", "UMask=0077"]


def _walls(needs: Needs, own: Iterable[str], files: Iterable[str]) -> list[str]:
    seen, writes = [*own, *files], sorted(map(_whole, needs.writes))
    calls = " ".join(sorted({*needs.calls, *(["sched_setscheduler"] if needs.realtime else [])}))
    return [
        "ProtectSystem=strict",
        *(f"{'BindPaths' if _any_below([path], SHORT_LIVED) else 'ReadWritePaths'}={_path(path)}" for path in writes),
        f"ProtectHome={'read-only' if _any_below([*seen, *writes], HOMES) else 'yes'}",
        "PrivateTmp=yes",
        *(f"BindReadOnlyPaths={_path(path)}" for path in seen if _any_below([path], SHORT_LIVED)),
        "PrivateDevices=yes",
        "ProtectClock=yes",
        "ProtectControlGroups=yes",
        "ProtectHostname=yes",
        "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes",
        # It closes the BPF file system whatever ReadWritePaths says; this is the same but for that.
        *(["ReadOnlyPaths=/proc/sys /sys"] if _any_below(writes, ["/sys"]) else ["ProtectKernelTunables=yes"]),
        "ProtectProc=invisible",
        "LockPersonality=yes",
        "MemoryDenyWriteExecute=yes",
        "RemoveIPC=yes",
        f"RestrictAddressFamilies={' '.join(sorted(needs.families))}",
        f"RestrictNamespaces={'net' if needs.enters else 'yes'}",
        *(["LimitRTPRIO=1"] if needs.realtime else ["RestrictRealtime=yes"]),
        "RestrictSUIDSGID=yes",
        "SystemCallArchitectures=native",
        "SystemCallFilter=@system-service",
        "SystemCallFilter=~@privileged @resources",
        *([f"SystemCallFilter={calls}"] if calls else []),
        "SystemCallErrorNumber=EPERM",
    ]


def _argument(argument: str) -> str:
    """An argument of a command line, in which a dollar sign begins a variable (systemd.service(5))."""
    return _quoted(argument.replace("$", "$$"))


def _path(path: str) -> str:
    """A path of a list of mounts, in which a colon begins another path.

    Raises:
        AnabranchError: it has a colon.

    """
    if ":" in path:
        raise AnabranchError(f"{path}: has a colon, which no mount of a unit may; move it")
    return _quoted(path)


def _quoted(text: str) -> str:
    """A word as systemd reads it back, in which a percent sign begins a specifier (systemd.syntax(7)).

    Raises:
        AnabranchError: it has a control character.

    """
    if not text.isprintable():
        raise AnabranchError(f"{text!r}: has a control character, which no unit may; rename the file")
    text = text.replace("%", "%%")
    if PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _whole(file: str) -> str:
    """An absolute name of a file; links stay what they are, for they may lead elsewhere tomorrow."""
    return str(Path.cwd() / file)


def _absolute(argument: str, files: Sequence[str]) -> str:
    """An argument, with the name of a file in it made absolute."""
    for prefix in ("", *(f"{option}=" for option in re.findall(r"^(--[a-z-]+)=", argument))):
        if argument.startswith(prefix) and argument[len(prefix) :] in files:
            return prefix + _whole(argument[len(prefix) :])
    return argument


def _refuse_closed(reader: Reader, file: str, *, writes: bool) -> None:
    try:
        wall = reader.refused_at(Path(file), writes=writes)
    except OSError as error:
        raise AnabranchError(f"{file}: {error.strerror}; a service does not make it") from None
    if wall is not None:
        verb = "write to" if writes else "read"
        raise AnabranchError(f"{file}: {reader.name} may not {verb} it because of {wall}; give --user NAME who may")


def _any_below(files: Iterable[str], folders: Iterable[str]) -> bool:
    paths = [path for file in files for path in (Path(file), Path(file).resolve())]
    return any(path.is_relative_to(folder) for path in paths for folder in folders)
