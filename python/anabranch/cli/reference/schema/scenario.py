"""Schema of scenario files, from the keys of the compiled reader, and of studies around them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from anabranch.cli.reference import study as backends
from anabranch.cli.reference.schema.tree import tree
from anabranch.cli.reference.schema.value import Schema, either, schema_of
from anabranch.reproduce.claims.group import LAB
from anabranch.simulate.scenario.keys import TABLE, TABLES, Key, every_key, keys_of

KINDS = ("fabric.kind", "transport.kind", "traffic.kind")
"""Keys on which the other keys of their tables depend."""
CHOICES = {"transport.kind": ("control", "recovery")}
"""Keys that some of those kinds have, on which others depend in turn."""
BALANCE = "routing.balance"
LIKE_LINKS = {"fabric.edge.back": "fabric.link", "traffic.transport": "transport"}
"""Tables about whose keys the reader says nothing by itself, and those whose keys they have."""


def scenario() -> Schema:
    """A whole scenario."""
    return _children("", every_key())


def partial(schema: Any) -> Any:
    """The same where the axes of a study may give what is missing: nothing is required, kinds do not matter."""
    if isinstance(schema, dict):
        return {key: partial(value) for key, value in schema.items() if key not in ("required", "allOf")}
    return [partial(item) for item in schema] if isinstance(schema, list) else schema


def study() -> Schema:
    """A study of the simulator, or one with code of its own: of a lab the names of keys are known."""
    own = tree(backends.simulator())
    own["properties"]["scenario"]["anyOf"][1] |= partial(scenario())
    return {"if": {"required": ["backend"]}, "then": {"oneOf": _with_code(backends.LAB)}, "else": own}


def _with_code(meanings: dict[str, str]) -> list[Schema]:
    """A study of the lab, and one of a backend of its own, whose keys its code knows."""
    properties: dict[str, Schema] = {key: {"description": text} for key, text in meanings.items()}
    code = {"type": "string", "pattern": r"^.+\.py:[A-Za-z_]\w*$", "description": meanings["code"]}
    known = {**properties, "backend": {**properties["backend"], "const": LAB}, "code": code}
    own = {"backend": {"type": "string", "not": {"const": LAB}}, "code": code}
    common: Schema = {"type": "object", "required": ["backend", "code"]}
    return [{**common, "properties": known, "additionalProperties": False}, {**common, "properties": own}]


def _children(path: str, known: dict[str, Key]) -> Schema:
    prefix = f"{path}." if path else ""
    below = {key.path.removeprefix(prefix): key for key in known.values() if key.path.startswith(prefix)}
    direct = {name: key for name, key in below.items() if name and "." not in name}
    schema: Schema = {
        "type": "object",
        "properties": {name: _key(key, known) for name, key in direct.items()},
        "additionalProperties": False,
    }
    conditions = [_condition(path, kind) for kind in KINDS if kind.rpartition(".")[0] == path]
    if path == "routing":
        conditions = [_schemes()]
    elif required := [name for name, key in direct.items() if key.written == "required" and not conditions]:
        schema["required"] = required
    if conditions:
        (schema["allOf"],) = conditions
    return schema


def _key(key: Key, known: dict[str, Key]) -> Schema:
    about: Schema = {"description": key.meaning}
    if key.sort == TABLE:
        return {**_children(LIKE_LINKS.get(key.path, key.path), known), **about}
    if key.sort == TABLES:
        return {"type": "array", "items": _children(key.path, known), **about}
    if key.default is not None:
        about["default"] = key.default
    # A key of one name may want something else in tables of another kind.
    wants = [schema_of(words) for words in values_of_keys()[key.path]]
    return {**(wants[0] if len(wants) == 1 else either(*wants)), **about}


@cache
def values_of_keys() -> dict[str, list[str]]:
    """Descriptions of the values of each key, over all kinds of tables and all load balancers."""
    values: dict[str, dict[str, None]] = {}
    texts = [text for selector in (*KINDS, BALANCE) for drafts in _drafts(selector).values() for text in drafts]
    for keys in [every_key(), *map(keys_of, texts)]:
        for path, key in keys.items():
            values.setdefault(path, {})[key.wants] = None
    return {path: list(wants) for path, wants in values.items()}


def _drafts(selector: str) -> dict[str, list[str]]:
    """Scenarios of each kind that a key selects, by the kind: the plain one, and one for each choice that adds keys."""
    table, _, name = selector.rpartition(".")
    head = f"[[{table}]]" if every_key()[table].sort == TABLES else f"[{table}]"
    kinds = schema_of(every_key()[selector].wants)["enum"]
    drafts = {kind: [f"{head}\n{name} = {json.dumps(kind)}\n"] for kind in kinds}
    for texts in drafts.values():
        (plain,) = texts
        known = keys_of(plain)
        for choice in CHOICES.get(selector, ()):
            key = known.get(f"{table}.{choice}")
            words = schema_of(key.wants)["enum"] if key else []
            texts += [f"{plain}{choice} = {json.dumps(word)}\n" for word in words]
    return drafts


def _condition(path: str, selector: str) -> list[Schema]:
    """Names of the keys that a table has under each of its kinds, and those that it must have."""
    alternatives = []
    for kind, texts in _drafts(selector).items():
        names: dict[str, bool] = {}
        for text in texts:
            for key in keys_of(text).values():
                table, _, name = key.path.rpartition(".")
                if table == path:
                    names[name] = names.get(name, True) and key.written == "required"
        required = [name for name, must in names.items() if must]
        alternatives.append({"if": _chosen(selector, kind), "then": {**_only([*names]), "required": required}})
    return alternatives


def _schemes() -> list[Schema]:
    """Names of the parameters that each load balancer has in `[routing.scheme]`."""
    alternatives = []
    for balancer, (text,) in _drafts(BALANCE).items():
        own = [path.removeprefix("routing.scheme.") for path in keys_of(text) if path.startswith("routing.scheme.")]
        alternatives.append({"if": _chosen(BALANCE, balancer), "then": {"properties": {"scheme": _only(own)}}})
    return alternatives


def _only(names: list[str]) -> Schema:
    """No keys but these."""
    return {"properties": dict.fromkeys(names, True), "additionalProperties": False}


def _chosen(selector: str, kind: str) -> Schema:
    """Whether a table has a kind, which is the default where it says none."""
    key = every_key()[selector]
    chosen: Schema = {"properties": {selector.rpartition(".")[2]: {"const": kind}}}
    return chosen if kind == key.default else {**chosen, "required": [selector.rpartition(".")[2]]}
