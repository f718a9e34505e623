"""Runs a test in a network namespace of its own, which ends with it."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from collections.abc import Callable

import pytest

# OpenBLAS starts threads when it is loaded, once for NumPy and once for SciPy. Loaded later, within a namespace, they
# would stay there and keep it from ending.
import scipy.special  # noqa: F401

from support.needs import brings, declares

CLONE_NEWNET = 0x40000000


@declares("root")
def in_own_namespace(test: Callable[..., None]) -> Callable[..., None]:
    """The test in a thread that has left the machine's network; what it starts is there too."""

    @functools.wraps(test)
    def run(*arguments: object, **named: object) -> None:
        failed: list[BaseException] = []

        def inside() -> None:
            try:
                libc = ctypes.CDLL(None, use_errno=True)
                if libc.unshare(CLONE_NEWNET):
                    pytest.skip(f"no network namespace of its own: {os.strerror(ctypes.get_errno())} (root needed)")
                test(*arguments, **named)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=inside, daemon=True)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    return brings("root")(run)
