"""The exception that every error of a user's input or machine becomes; it imports nothing else of the package."""

from __future__ import annotations

from anabranch._core import AnabranchError

__all__ = ["AnabranchError"]
