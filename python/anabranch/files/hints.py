"""Hints of error messages: what the user probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from anabranch.files.errors import AnabranchError


def nearest(word: str, known: Iterable[str], listed: Iterable[str] | None = None) -> str:
    """Hint for an unknown word: the nearest known one, or all of them; those in `listed` where some have two names."""
    names = list(known)
    near = difflib.get_close_matches(word, names, 1)
    return f"did you mean {near[0]}?" if near else f"use one of {', '.join(names if listed is None else listed)}"


def choose(word: str, known: Sequence[str], where: str) -> str:
    """Return `word` if it is known, else raise an error that names the nearest known word."""
    if word not in known:
        raise AnabranchError(f"{where}: {word}: unknown; {nearest(word, known)}")
    return word


PACKAGES = {
    "dask": ("distributed",),
    "gym": ("gymnasium",),
    "import": ("pydot", "pyyaml"),
    "p4": ("finsy",),
    "switches": ("aiohttp", "ovs", "prometheus-client", "pyroute2"),
    "trace": ("perfetto",),
}
"""Python packages that only some jobs need, by the extra of anabranch that has them."""


def install(extra: str) -> str:
    """Hint for packages that are missing.

    It names them by themselves: an extra can be asked for only where an index has anabranch, not from a checkout.
    """
    return f"pip install {' '.join(PACKAGES[extra])}"
