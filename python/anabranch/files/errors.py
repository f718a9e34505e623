"""Exceptions that errors of a user's input or machine become; this imports nothing else of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class AnabranchError(ValueError):
    """Error of the user's input or machine; the message names the key, the value and a hint."""


class UnavailableError(AnabranchError):
    """Error of a switch, a kernel or an address that may pass: the same command may succeed later."""


class OverruledError(AnabranchError):
    """Error of a switch or kernel that somebody else has changed on purpose: the same command would undo it."""


@contextmanager
def unavailable() -> Iterator[None]:
    """Makes every error of a block one that may pass: what the user wrote was read before it.

    Raises:
        UnavailableError: the block raised an AnabranchError or an OSError.
        OverruledError: the block raised it.

    """
    try:
        yield
    except OverruledError:
        raise
    except AnabranchError as error:
        raise UnavailableError(str(error)) from error
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        raise UnavailableError(f"{name}{error.strerror or error}") from error


# Its public name: tracebacks show it, and pickles find it by it.
AnabranchError.__module__ = "anabranch"
