"""Schemes of one's own by name: values that stand where a study names a load balancer."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.program import BUILD, PREFIX, Program, find_program
from anabranch.simulate.own.python_source import PythonSource, read_source

Own: TypeAlias = PythonSource | Program


def is_own(value: object) -> bool:
    """Whether a value of `routing.balance` names a scheme of one's own: no load balancer's name has a colon."""
    return isinstance(value, str) and ":" in value


def read_own(text: str, folder: Path) -> Own:
    """Finds the scheme that `text` names, relative to `folder`.

    Raises:
        AnabranchError: there is none, or it cannot be loaded, or its program is stale.

    """
    return find_program(text, folder) if text.startswith(PREFIX) else read_source(text, folder)


def own_name(own: Own) -> str:
    """Name in tables: the crate's, or what the object calls itself."""
    return own.name if isinstance(own, Program) else own.scheme().name


def file_name(name: str) -> str:
    """A name as part of the name of a folder."""
    return re.sub(r"[^\w.+-]", "_", name)


def own_identity(own: Own, scenario: Scenario) -> str:
    """Identity of a scheme's results under a scenario: another source, or another build, is another scheme.

    Raises:
        AnabranchError: the scheme's program simulates by another model than this anabranch.

    """
    if isinstance(own, Program) and own.model_version != scenario.model_version:
        raise AnabranchError(
            f"{own.text}: {own.path} simulates by model {own.model_version}, and {scenario.model_version} is here; "
            f"hint: build both from one checkout, the program by `{BUILD}` in its crate"
        )
    return blake2b(json.dumps([scenario.identity, own.digest]).encode(), digest_size=16).hexdigest()
