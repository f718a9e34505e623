"""`python -m anabranch` is the command `anabranch`."""

from __future__ import annotations

import sys

from anabranch.files.exit_status import STATUS_STOPPED


def start() -> None:
    """Runs the command line; Ctrl-C ends it without a traceback while modules are imported, too."""
    try:
        from anabranch.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(STATUS_STOPPED)


if __name__ == "__main__":
    start()
