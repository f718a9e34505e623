"""A timer that wakes an epoll loop to the microsecond; epoll's own timeout counts milliseconds."""

from __future__ import annotations

import ctypes
import os

CLOCK_MONOTONIC = 1
TFD_TIMER_ABSTIME = 1
SECOND_NS = 1_000_000_000


class _Specification(ctypes.Structure):
    """struct itimerspec: interval, then first expiry."""

    _fields_ = (
        ("interval_s", ctypes.c_long),
        ("interval_ns", ctypes.c_long),
        ("value_s", ctypes.c_long),
        ("value_ns", ctypes.c_long),
    )


class Timer:
    """A timerfd(2) on CLOCK_MONOTONIC; `os.timerfd_create` is there from Python 3.13 on only."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._library.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._set_for: int | None = None

    def fileno(self) -> int:
        """To wait for."""
        return int(self._descriptor)

    def set(self, at_ns: int) -> None:
        """Wakes at this time of CLOCK_MONOTONIC, at once if it is past."""
        if at_ns == self._set_for:
            return
        self._set_for = at_ns
        when = _Specification(0, 0, *divmod(max(at_ns, 1), SECOND_NS))
        if self._library.timerfd_settime(self._descriptor, TFD_TIMER_ABSTIME, ctypes.byref(when), None):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def clear(self) -> None:
        """Takes note that it woke."""
        self._set_for = None
        os.read(self._descriptor, 8)
