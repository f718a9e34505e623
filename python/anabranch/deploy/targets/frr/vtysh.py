"""Answers of FRR's daemons in JSON, asked for by vtysh."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from anabranch.files.errors import AnabranchError

PROGRAM = "vtysh"
TIMEOUT_S = 30.0
NOT_RUNNING = "is not running"


def ask(vty_socket: str, command: str) -> dict[str, Any] | None:
    """What a daemon answers; `None` where that daemon is not running.

    Args:
        vty_socket: folder of the daemons' sockets.
        command: of FRR, one that answers in JSON.

    Raises:
        AnabranchError: there is no vtysh, no daemon, or no JSON.

    """
    program = shutil.which(PROGRAM)
    if program is None:
        raise AnabranchError(f"{PROGRAM}: no such program; it comes with FRR (apt install frr)")
    try:
        run = subprocess.run(
            [program, "--vty_socket", vty_socket, "-c", command],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise AnabranchError(f"vty-socket: {vty_socket}: no answer within {TIMEOUT_S:g} s; try again") from None
    if NOT_RUNNING in run.stdout + run.stderr:
        return None
    if run.returncode:
        answered = (run.stderr or run.stdout).strip().splitlines()
        why = answered[-1] if answered else f"{PROGRAM} ended with status {run.returncode}"
        hint = "name the folder of the router's sockets, and run as one whom FRR lets in (group frrvty)"
        raise AnabranchError(f"vty-socket: {vty_socket}: {why}; {hint}")
    try:
        answer = json.loads(run.stdout)
    except (ValueError, RecursionError) as error:
        raise AnabranchError(f"vty-socket: {vty_socket}: {command}: no JSON: {error}; is this FRR?") from None
    return answer if isinstance(answer, dict) else {}
