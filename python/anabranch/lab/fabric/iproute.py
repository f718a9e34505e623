"""`ip` and `tc`, given many commands at once; namespaces made and removed by their name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence

from anabranch.deploy.netlink.namespace import NAMED
from anabranch.files.errors import AnabranchError
from anabranch.lab.fabric.processes import end

TIMEOUT_S = 300


def batch(program: str, namespace: str | None, lines: Iterable[str], mark: str = "") -> None:
    """Gives `ip` or `tc` many commands at once, in a namespace, with `mark` (`NAME=VALUE`) in its environment.

    Raises:
        AnabranchError: one of them is refused, or the program does not end.

    """
    text = "".join(f"{line}\n" for line in lines)
    if not text:
        return
    command = [program, *(["-netns", namespace] if namespace else []), "-batch", "-"]
    name, _, value = mark.partition("=")
    environment = os.environ | ({name: value} if name else {})
    try:
        run = subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=TIMEOUT_S,
            # execve(2) closes them: a child that has no mark yet holds the lab's lock (`record.locked`).
            close_fds=False,
        )
    except subprocess.TimeoutExpired:
        last = text.rstrip().rpartition("\n")[2]
        raise AnabranchError(f"{program}: no end after {TIMEOUT_S} s; its last command is `{last}`") from None
    if run.returncode:
        raise AnabranchError(f"{program}: {run.stderr.strip() or run.returncode}")


def make(namespaces: Sequence[str], mark: str) -> None:
    """Makes them.

    Raises:
        AnabranchError: one of them is there, or the privilege lacks.

    """
    batch("ip", None, (f"netns add {name}" for name in namespaces), mark)


def present() -> set[str]:
    """The names of all on this machine."""
    return {path.name for path in NAMED.iterdir()} if NAMED.is_dir() else set()


def end_inside(namespaces: Sequence[str], mark: str) -> None:
    """Ends processes in the namespaces, and those with `mark` in their environment."""
    # First what a maker that was killed has left running: it may be making namespaces still.
    end(set(), mark)
    end({(NAMED / name).stat().st_ino for name in set(namespaces) & present()}, mark)


def remove(namespaces: Sequence[str]) -> None:
    """Removes those that are there."""
    names = present()
    batch("ip", None, (f"netns del {name}" for name in namespaces if name in names))
