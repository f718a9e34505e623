"""The exception that every error of a user's input or machine becomes; it imports nothing else of the package."""

from __future__ import annotations


class AnabranchError(ValueError):
    """Error of the user's input or machine; the message names the key, the value and a hint."""


# Its public name: tracebacks show it, and pickles find it by it.
AnabranchError.__module__ = "anabranch"
