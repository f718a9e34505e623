"""Counters of members as people have them: on the command line, or in a file."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from anabranch.files.errors import AnabranchError

MEMBERS_MAX = 1024
COUNT_MAX = 1 << 63
HEADER = ("member", "packets")
FORM = "give whole numbers, or rows of member,packets"


@dataclass(frozen=True)
class Counters:
    """Packets of each member, with its name."""

    names: list[str]
    """Names of the members; their numbers from 1 where they have none."""
    packets: list[int]


def read_counters(text: str) -> Counters:
    """Reads counters: `1250,1249,...` itself, or a file (`-` is stdin) of such numbers or of CSV `member,packets`.

    Raises:
        AnabranchError: the file cannot be read, or a line is not as it must be; it names file and line.

    """
    if re.fullmatch(r"[\d\s,;_]*\d[\d\s,;_]*", text):
        return _numbered(_numbers(text, "counters"), "counters")
    name = "stdin" if text == "-" else text
    try:
        content = (sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AnabranchError(f"{name}: byte {error.start}: not UTF-8; save the file as UTF-8") from None
    except FileNotFoundError:
        raise AnabranchError(f"counters: {text}: no such file; {FORM} in a file, or counters as in 1250,1249") from None
    lines = [
        (number, line.strip())
        for number, line in enumerate(content.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise AnabranchError(f"{name}: no counters; {FORM}")
    number, first = lines[0]
    if any(letter.isalpha() for letter in first):
        columns = [column.strip() for column in first.split(",")]
        if not set(HEADER) <= set(columns):
            raise AnabranchError(f"{name}:{number}: {first}: not a header of counters; begin with member,packets")
        return _rows(lines[1:], columns, name)
    return _numbered([one for number, line in lines for one in _numbers(line, f"{name}:{number}")], name)


def _rows(lines: list[tuple[int, str]], columns: list[str], name: str) -> Counters:
    members: dict[str, int] = {}
    for number, line in lines:
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(columns):
            raise AnabranchError(
                f"{name}:{number}: {line}: {len(cells)} cells under {len(columns)} columns; give each its cell"
            )
        row = dict(zip(columns, cells, strict=True))
        if row["member"] in members:
            raise AnabranchError(f"{name}:{number}: {row['member']}: a member twice; leave one out, or add them up")
        members[row["member"]] = _number(row["packets"], f"{name}:{number}")
    return Counters(list(members), _checked(list(members.values()), name))


def _numbered(packets: list[int], name: str) -> Counters:
    return Counters([str(member) for member in range(1, len(packets) + 1)], _checked(packets, name))


def _checked(packets: list[int], name: str) -> list[int]:
    if not 2 <= len(packets) <= MEMBERS_MAX:
        raise AnabranchError(f"{name}: {len(packets)} members; give the counters of 2 to {MEMBERS_MAX}")
    return packets


def _numbers(text: str, where: str) -> list[int]:
    return [_number(one, where) for one in re.split(r"[\s,;]+", text) if one]


def _number(text: str, where: str) -> int:
    # Longer ones no counter has, and Python refuses to read them from 4,301 digits on.
    if not re.fullmatch(r"\d[\d_]*", text, re.ASCII) or len(text) > 25 or int(text) >= COUNT_MAX:
        raise AnabranchError(f"{where}: {text}: not a count of packets; give a whole number below 2^63")
    return int(text)
