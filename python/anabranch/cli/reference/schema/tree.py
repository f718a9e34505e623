"""Schema of a table whose reader asks for it key by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from anabranch.cli.reference.schema.value import Schema, either, schema_of
from anabranch.files.settings import NAME, REQUIRED, TABLE, TABLE_OR_TABLES, TABLES, Key


def tree(keys: Mapping[str, Key], within: str = "") -> Schema:
    """Schema of a table with keys by their paths; `within` is the path of the table, with its dot."""
    properties: dict[str, Schema] = {}
    required = []
    for name in dict.fromkeys(path.removeprefix(within).split(".")[0] for path in keys if path.startswith(within)):
        path = f"{within}{name}"
        key = keys.get(path)
        schema = _values(key.values if key else TABLE, partial(tree, keys, f"{path}."))
        if key:
            schema["description"] = key.meaning
        properties[name] = schema
        # What always has a key that must be there must be there itself.
        if key.otherwise == REQUIRED if key else "required" in schema:
            required.append(name)
    rest = properties.pop(NAME, False)
    known: Schema = {"type": "object", "properties": properties, "additionalProperties": rest}
    return {**known, "required": required} if required and rest is False else known


def _values(words: str, table: Callable[[], Schema]) -> Schema:
    """Schema of a key's values by their words; `table` makes that of the tables that a key has."""
    if words == TABLE:
        return table()
    tables: Schema = {"type": "array", "minItems": 1}
    if words == TABLE_OR_TABLES:
        return either(table(), {**tables, "items": table()})
    return {**tables, "items": table()} if words.startswith(TABLES) else schema_of(words)
