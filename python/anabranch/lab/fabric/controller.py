"""A controller for a lab, in the background: started with it on request, and gone with it."""

from __future__ import annotations

import http.client
import os
import sys
import time

from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric import record
from anabranch.lab.fabric.processes import marked
from anabranch.lab.fabric.topology import Lab

LOG = "control.log"
CONVERGE_TIMEOUT_S = 60.0
POLL_S = 0.02
LAST_LINES = 3


def start(lab: Lab) -> None:
    """Runs `anabranch control` on the lab's fabric until the lab is removed; one that runs stays.

    Its environment has the lab's mark, by which `down` finds it whenever it has been started.

    Raises:
        AnabranchError: it ends, or the switches are not at its plan in time; with what it said last.

    """
    with record.locked(lab.name):
        started = None if running(lab) else _spawn(lab)
    deadline = time.monotonic() + CONVERGE_TIMEOUT_S
    while not converged(lab):
        ended = os.waitpid(started, os.WNOHANG)[0] if started else not running(lab)
        if ended or time.monotonic() > deadline:
            last_lines = (lab.folder / LOG).read_text(errors="replace").splitlines()[-LAST_LINES:]
            raise AnabranchError(f"lab {lab.name}: its controller does not reach its plan: {' '.join(last_lines)}")
        time.sleep(POLL_S)


def _spawn(lab: Lab) -> int:
    name, _, value = lab.record.mark.partition("=")
    log = str(lab.folder / LOG)
    # Unlike subprocess, this leaves no object behind that wants the child to end before this process does.
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-m", "anabranch", "control", str(lab.fabric_file)],
        os.environ | {name: value},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


def running(lab: Lab) -> list[int]:
    """Processes of the lab's controller."""
    return [pid for pid, command in marked(lab.record.mark) if str(lab.fabric_file) in command]


def converged(lab: Lab) -> bool:
    """Whether the controller says that all switches are at its plan."""
    address = lab.record.http
    connection = http.client.HTTPConnection(address, timeout=POLL_S * 50)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
