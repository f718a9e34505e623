"""Schema of a key's values, by the words in which its reader describes them; words that nobody knows are an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from anabranch.simulate.load_balancers import schemes

Schema = dict[str, Any]

LIST = ", or a list of such"
TEXT: Schema = {"type": "string", "minLength": 1}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
WORD = re.compile(r'"([^"]+)"')
# A decimal number as the readers take it, and units (crates/form/src/unit/quantity.rs, crates/fabric/src/quantity.rs).
DECIMAL = r"\s*[0-9][0-9_]*(\.[0-9_]*[0-9]_*)?\s*"
TIMES = "(s|ms|us|\u00b5s|\u03bcs|ns|ps)"
RATES = "([TGMkK]?bps|[TGMk]?bit/s|[TGMk]?b/s)"
SIZES = "([GMKk]?B|[GMK]iB)"
OPERATIONS = "([EPTGM]?FLOPS)"
MEMORY_RATES = "([TGMKk]?B/s)"
PACKETS = "packets?"


def quantity(*units: str) -> Schema:
    """A number with one of some units, as text."""
    return {"type": "string", "pattern": f"^{DECIMAL}({'|'.join(units)})\\s*$"}


def words(known: Sequence[str]) -> Schema:
    """One of some words."""
    return {"enum": list(known)}


def table(required: Sequence[str], **properties: Schema) -> Schema:
    """A table of these keys and no others."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def either(*schemas: Schema) -> Schema:
    """What one of some schemas takes."""
    return {"anyOf": list(schemas)}


def one_or_more(schema: Schema) -> Schema:
    """A value, or a list of such."""
    return either(schema, {"type": "array", "items": schema})


def _within(kind: str) -> Callable[[re.Match[str]], Schema]:
    def schema(match: re.Match[str]) -> Schema:
        convert = int if kind == "integer" else float
        bounds = {"minimum": convert(match[1])}
        if match.re.groups > 1 and match[2]:
            bounds["maximum"] = convert(match[2])
        return {"type": kind, **bounds}

    return schema


def _sizes(match: re.Match[str]) -> Schema:
    file = table(["file"], file=TEXT, digest=TEXT)
    return either(words(WORD.findall(match[1])), SIZE, table(["least", "most"], least=SIZE, most=SIZE), file)


def _pattern(match: re.Match[str]) -> Schema:
    whole: Schema = {"type": "integer", "minimum": 0}
    pair: Schema = {"type": "array", "items": whole, "minItems": 2, "maxItems": 2}
    tables = {"stride": whole, "into_pod": whole, "pairs": {"type": "array", "items": pair}}
    return either(words(WORD.findall(match[1])), *(table([key], **{key: value}) for key, value in tables.items()))


def _mutations() -> list[str]:
    return list(dict.fromkeys(mutation.name for balancer in schemes() for mutation in balancer.mutations))


TIME, SIZE = quantity(TIMES), quantity(SIZES)
LIMIT = quantity(SIZES, PACKETS)
RAMP = table(["low", "high", "probability"], low=SIZE, high=SIZE, probability={"type": "number"})
PERCENT = r"^[0-9]+(\.[0-9]+)?\s*%$"
WEIGHT: Schema = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
RULES: tuple[tuple[str, Schema | Callable[[re.Match[str]], Schema]], ...] = (
    (r"true or false", {"type": "boolean"}),
    (r"a whole number, at least (\d+)", _within("integer")),
    (r"a whole number from (\d+) to (\d+)(?:, another on each switch)?", _within("integer")),
    (
        r'a whole number from (\d+) to (\d+), or "([^"]+)"',
        lambda matched: either(_within("integer")(matched), words([matched[3]])),
    ),
    (rf"a number from ({NUMBER}) to ({NUMBER})", _within("number")),
    (
        rf"a number above 0, at most ({NUMBER})",
        lambda matched: {"type": "number", "exclusiveMinimum": 0, "maximum": float(matched[1])},
    ),
    (
        rf"a part of the capacity above 0, at most ({NUMBER}), such as .*",
        lambda matched: either(
            {"type": "number", "exclusiveMinimum": 0, "maximum": float(matched[1])},
            {"type": "string", "pattern": PERCENT},
        ),
    ),
    (r"a power of two from (\d+) to (\d+)", lambda matched: words_of_powers(int(matched[1]), int(matched[2]))),
    (r"4 or 6", {"enum": [4, 6]}),
    (r"a time such as .*", TIME),
    (r"a time from .* to .*", quantity("(s|ms|us|min)")),
    (r"a (?:rate|capacity) such as .*", quantity(RATES)),
    (r"a size such as .*", SIZE),
    (r"operations per second such as .*", quantity(OPERATIONS)),
    (r"bytes per second such as .*", quantity(MEMORY_RATES)),
    (r"room such as .*", either(LIMIT, words(["unlimited"]))),
    (r"a threshold such as .*", either(LIMIT, words(["off"]), RAMP)),
    (r"a percentage above 0, .*", quantity("%?")),
    (
        r'"equal", "capacity" or weights of ports .*',
        either(words(["equal", "capacity"]), {"type": "object", "additionalProperties": WEIGHT, "minProperties": 1}),
    ),
    (r'"none", \{ hold = .*', either(words(["none"]), table(["hold"], hold=TIME, flowcell=SIZE))),
    (r'one of ((?:"[^"]+"(?:, )?)+); or "100 KB", .*', _sizes),
    (r'((?:"[^"]+", )+)\{ stride = 8 \}, .*', _pattern),
    (r'"[^"]+"(?:(?:, | or )"[^"]+")*', lambda matched: words(WORD.findall(matched[0]))),
    (r"32 hexadecimal digits", {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}),
    (r"16 hexadecimal digits in quotes: .*", TEXT),
    (r"names or numbers of ports|numbers and ranges, as in .*", one_or_more({"type": ["string", "integer"]})),
    (r"(?:names of|prefixes|addresses|a list of)\b.*|a name, or a list of names", one_or_more({"type": "string"})),
    (
        r"how many, a list of them, or text as in .*",
        either(
            {"type": "integer", "minimum": 1},
            {"type": "string", "pattern": r"^\d+(:\d+)?(,\d+(:\d+)?)*$"},
            {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 1, "uniqueItems": True},
        ),
    ),
    (r"letters, digits, dots and dashes", {"type": "string", "pattern": r"^[\w.-]+$"}),
    (r"a file, or a table", either({"type": "string"}, {"type": "object"})),
    (r"a mutation of the load balancer, by its name", lambda _: words(_mutations())),
    (r"a table of keys", {"type": "object"}),
    (r"a table of lists", {"type": "object", "additionalProperties": {"type": ["array", "object"]}}),
    (
        r"a table of lists, or of tables",
        {
            "type": "object",
            "additionalProperties": either({"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}),
        },
    ),
    (r"numbers, one per path", {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}),
    (r"whole numbers from .*, one per path, .*", {"type": "array", "items": {"type": "integer"}, "minItems": 1}),
    (r"text|up to \d+ bytes|at most \d+ letters, .*|`.*`", TEXT),
    (r"(?:a|the) (?:name|file|folder|node|link|switch|port)\b.*", TEXT),
)
"""Words of readers as patterns, and what they mean; the first that matches counts."""


def words_of_powers(least: int, most: int) -> Schema:
    """Powers of two within bounds."""
    return {"enum": [1 << bit for bit in range(least.bit_length() - 1, most.bit_length())]}


def schema_of(wants: str) -> Schema:
    """Schema of the values that a reader describes so.

    Raises:
        ValueError: no rule knows the words.

    """
    if wants.endswith(LIST):
        return one_or_more(schema_of(wants.removesuffix(LIST)))
    for pattern, rule in RULES:
        if match := re.fullmatch(pattern, wants):
            return rule(match) if callable(rule) else deepcopy(rule)
    raise ValueError(f"{wants}: no schema is known for values described so; add a rule")
