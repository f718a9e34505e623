"""Target options of a kernel's routes: none, since it is always the kernel of the network namespace this runs in."""

from __future__ import annotations

OPTIONS: dict[str, type] = {}
