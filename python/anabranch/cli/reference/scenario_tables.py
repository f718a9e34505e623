"""Classes of a scenario's tables: keys of the compiled reader as annotations, for completion and type checkers."""

from __future__ import annotations

import keyword
import re

from anabranch.cli.reference.schema.scenario import values_of_keys
from anabranch.simulate.scenario.keys import TABLE, TABLES, Key, every_key

HEAD = '''"""Tables of a scenario by name, with their keys. Written by `make reference`; a test compares."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from anabranch.simulate.scenario.table import Table, Tables
'''
LIST = ", or a list of such"
WORDS = re.compile(r'"[^"]+"(?:(?:, | or )"[^"]+")*')
QUOTED = re.compile(r'"[^"]+"')
WIDTH = 120


def page() -> str:
    """The module `scenario/tables.py`."""
    known = every_key()
    paths = ["", *(path for path, key in known.items() if key.sort in (TABLE, TABLES))]
    return HEAD + "".join(_class(path, known) for path in paths)


def _class(path: str, known: dict[str, Key]) -> str:
    meaning = known[path].meaning if path else "Tables and keys of a scenario."
    within = [key for key in known.values() if key.path.rpartition(".")[0] == path]
    lines = [f"class {_name(path)}(Table):", f'    """{meaning}"""', ""]
    lines.append(f'    PATH: ClassVar[str] = "{path}"')
    for key in within:
        name = key.path.rpartition(".")[2]
        lines += _annotation(f"{name}_" if keyword.iskeyword(name) else name, _type(key))
    return "\n\n" + "\n".join(lines) + "\n"


def _annotation(name: str, kind: str) -> list[str]:
    line = f"    {name}: {kind}"
    if len(line) <= WIDTH:
        return [line]
    # As ruff writes it.
    words = kind.removeprefix("Literal[").removesuffix("]").split(", ")
    return [f"    {name}: Literal[", *(f"        {word}," for word in words), "    ]"]


def _name(path: str) -> str:
    return "".join(part.title() for step in path.split(".") for part in step.split("_")) or "ScenarioKeys"


def _type(key: Key) -> str:
    """Type of a key's values in Python, by the words that describe them."""
    if key.sort == TABLE:
        return _name(key.path)
    if key.sort == TABLES:
        return f"Tables[{_name(key.path)}]"
    # A key of one name may take other words in tables of another kind.
    wants = values_of_keys()[key.path]
    if len(wants) > 1 and all(WORDS.fullmatch(words) for words in wants):
        return f"Literal[{', '.join(dict.fromkeys(QUOTED.findall(' '.join(wants))))}]"
    one = _simple(key.wants.removesuffix(LIST))
    return f"{one} | list[{one}]" if key.wants.endswith(LIST) else one


def _simple(wants: str) -> str:
    if wants == "true or false":
        return "bool"
    if wants.startswith("a whole number"):
        return "int"
    if wants.startswith("a number"):
        return "float"
    if WORDS.fullmatch(wants):
        return f"Literal[{', '.join(QUOTED.findall(wants))}]"
    return (
        "str"
        if re.match(r"(?:a (?:time|rate|size)|(?:operations|bytes) per second) such as|the name of", wants)
        else "Any"
    )
