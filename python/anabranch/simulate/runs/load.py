"""Scenario files, and changes to them from the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from anabranch._core import Scenario
from anabranch.files.errors import AnabranchError
from anabranch.simulate.own.named import is_own
from anabranch.simulate.own.override import BALANCE
from anabranch.simulate.runs.literal import file_text, literal, unicode_text


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


UNNAMED = "scenario"
"""Name, in errors, of a scenario that has no file."""


def load(
    source: str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Iterable[tuple[str, str]] = (),
    *,
    driven: bool = False,
) -> Scenario:
    """Loads the scenario of a file or a mapping, with keys changed: a mapping of Python values, or pairs of texts.

    One that is `driven` need not have traffic: another program sends.

    Raises:
        AnabranchError: the file, a key or a value is not as it must be; the message says where and what would work.

    """
    if isinstance(overrides, Mapping):
        pairs = [(unicode_text(key), literal(value, key)) for key, value in overrides.items()]
    else:
        pairs = [(unicode_text(key), unicode_text(value, f"-o {key}")) for key, value in overrides]
    for key, value in pairs:
        if key == BALANCE and is_own(value):
            raise AnabranchError(
                f"-o {key}={value}: a load balancer of one's own runs by `anabranch run`, `sweep` and `compare`; hint: "
                "in Python, by ab.run(FILE, scheme=Mine())"
            )
    if isinstance(source, Mapping):
        text, file = text_of(source)
        return Scenario(text, file, pairs, lines=False, driven=driven)
    return Scenario(read_text(source), str(source), pairs, driven=driven)


def text_of(scenario: Mapping[str, Any]) -> tuple[str, str]:
    """Text of a scenario that is a mapping, and the file that names in it are relative to.

    Raises:
        AnabranchError: a value of a type that scenarios do not have.

    """
    file = str(getattr(scenario, "file", UNNAMED))
    return file_text(scenario, f"{file}: "), file


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
