"""Scenario files, and changes to them from the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.errors import AnabranchError
from anabranch.runs.literal import literal


def read_text(path: str | Path) -> str:
    """Reads the text of a TOML file.

    Raises:
        AnabranchError: it cannot be read as text.

    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise AnabranchError(f"{path}: {error.strerror}; give a TOML file that can be read") from None
    except UnicodeDecodeError:
        raise AnabranchError(f"{path}: not text in UTF-8; give a TOML file") from None


def load(path: str | Path, overrides: Mapping[str, Any] | Iterable[tuple[str, str]] = ()) -> Scenario:
    """Loads the scenario of a file, with keys changed: a mapping of Python values, or pairs of texts.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; the message says where and what would work.

    """
    if isinstance(overrides, Mapping):
        pairs = [(key, literal(value)) for key, value in overrides.items()]
    else:
        pairs = list(overrides)
    for key, value in pairs:
        if key == "routing.balance" and ":" in value:
            raise AnabranchError(
                f"-o {key}={value}: a load balancer of one's own runs on the axis {key} of a study, by `anabranch "
                "sweep`; hint: or in Python, by ab.run(FILE, scheme=Mine())"
            )
    return Scenario(read_text(path), str(path), pairs)


def parse_overrides(options: Iterable[str]) -> list[tuple[str, str]]:
    """Parses options `-o key=value` into pairs.

    Raises:
        AnabranchError: an option has no `=`.

    """
    pairs = []
    for option in options:
        key, sign, value = option.partition("=")
        if not sign or not key.strip():
            raise AnabranchError(f"-o {option}: not key=value; give the key with its table, as in -o traffic.load=0.6")
        pairs.append((key.strip(), value.strip()))
    return pairs
