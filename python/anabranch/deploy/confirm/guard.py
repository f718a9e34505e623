"""The process that goes back, as `apply` starts it: before the change, so that nothing can come between."""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from anabranch.deploy.confirm.pending import refuse_pending, settle
from anabranch.files.errors import AnabranchError

START_TIMEOUT_S = 60.0
READY, BUSY = "ready", "busy"
"""First words of the answer of the process."""


@dataclass(frozen=True)
class Order:
    """Everything that the process needs to know."""

    target: str
    plan: Any
    """The plan as the target has read it."""
    file: str
    """Plan file, for people."""
    options: Any
    scope: str
    before: Any
    """The desired state that brings back the observed one; None for nothing."""
    seconds: float


@contextmanager
def guarded(order: Order) -> Iterator[str]:
    """Makes the change of the block one that goes back: the clock runs from its end, or from the end of this process.

    Yields the sentence about it for people. Where the block raises an error, nothing waits.

    Raises:
        AnabranchError: another apply waits, or the process cannot start.

    """
    scope = order.scope
    refuse_pending(scope, order.file)
    with subprocess.Popen(
        [sys.executable, "-m", "anabranch.deploy.confirm.revert"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            pickle.dump(order, process.stdin)
            process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
        if not ready:
            os.killpg(process.pid, signal.SIGKILL)
        answer = process.stdout.readline().decode().strip()
        word, _, rest = answer.partition(" ")
        if word == BUSY:
            refuse_pending(scope, order.file)
        if word != READY:
            raise AnabranchError(f"confirm: the process that is to go back did not start: {rest or 'no answer'}")
        try:
            confirm = f"anabranch confirm {order.file} --target {order.target}"
            yield f"goes back in {order.seconds:g} s unless it is confirmed (`{confirm}`); {rest}"
        except BaseException:
            with suppress(AnabranchError):
                settle(scope)
            raise
