"""Schema of files that Python reads key by key: plans of each target, and fabric files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from anabranch.cli.reference import fabric_file, plan_file
from anabranch.cli.reference.keys import Meaning, asked_keys
from anabranch.cli.reference.schema.scenario import scenario
from anabranch.cli.reference.schema.value import TEXT, Schema, either, one_or_more, schema_of
from anabranch.deploy.control import file as control
from anabranch.deploy.control import policy
from anabranch.deploy.targets.ebpf import plan_file as ebpf
from anabranch.deploy.targets.linux import plan_file as linux
from anabranch.deploy.targets.ovs import plan_file as ovs
from anabranch.deploy.targets.table import plan_file as tables
from anabranch.files.settings import Key

NAME = "NAME"
"""Part of a path that stands for any name."""
PLANS: dict[str, tuple[Callable[[str, str], object], str, Mapping[str, str | Meaning]]] = {
    "ovs": (ovs.parse, plan_file.OVS, plan_file.OVS_MEANINGS),
    "linux": (linux.parse, plan_file.LINUX, plan_file.LINUX_MEANINGS),
    "ebpf": (ebpf.parse, plan_file.EBPF, plan_file.EBPF_MEANINGS),
    "table": (tables.parse, plan_file.TABLE, plan_file.TABLE_MEANINGS),
}


def plan(target: str) -> Schema:
    """A plan file of a target."""
    read, sample, meanings = PLANS[target]
    schema = _tree(asked_keys(read, [sample], plan_file.NAMES), meanings)
    group = schema["properties"]["group"]
    required = [key for key in ("name", "match", "ports") if _required(meanings.get(f"group.{key}"))]
    group["items"]["required"] = required
    return {**schema, "required": ["group"]}


def fabric() -> Schema:
    """A fabric file of the controller."""
    samples = [fabric_file.SAMPLE, fabric_file.WINO, fabric_file.TABLES]
    schema = _tree(asked_keys(control.parse, samples, fabric_file.NAMES), fabric_file.MEANINGS)
    properties = schema["properties"]
    properties["fabric"] = {**scenario()["properties"]["fabric"], **_about(fabric_file.MEANINGS["fabric"])}
    for name in policy.names():
        properties["policy"]["properties"].setdefault(name, {"type": "object", "maxProperties": 0})
    ports = properties["switch"]["additionalProperties"]["properties"]["ports"]
    ports.update({"type": "object", "additionalProperties": one_or_more(TEXT)})
    del ports["anyOf"]
    return {**schema, "required": ["fabric"]}


def _tree(asked: Mapping[str, Key], meanings: Mapping[str, str | Meaning]) -> Schema:
    """Schema of nested tables from keys by their paths."""
    root: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    for path, meaning in meanings.items():
        key = asked[path]
        *tables, last = path.split(".")
        # Keys that want the same stand together: `tcp_src, tcp_dst`.
        for name in re.split(", ", last):
            within = _within(root, tables)
            known = within["properties"].setdefault(name, _sort(path, key))
            known.update(_about(meaning))
    return root


def _sort(path: str, key: Key) -> Schema:
    table: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
    if path == "group":
        return {"type": "array", "items": table, "minItems": 1}
    if path == "group.match":
        return either(table, {"type": "array", "items": table, "minItems": 1})
    if key.value == "write a table":
        return table
    return schema_of(key.value) if key.value else {}


def _within(root: Schema, tables: Sequence[str]) -> Schema:
    """The table of a path, made where nobody asked for it by itself."""
    for name in tables:
        table: Schema = {"type": "object", "properties": {}, "additionalProperties": False}
        if name == NAME:
            root["additionalProperties"] = root["additionalProperties"] or table
            root = root["additionalProperties"]
            continue
        root = root["properties"].setdefault(name, table)
        root = root["anyOf"][0] if "anyOf" in root else root.get("items", root)
    return root


def _about(meaning: str | Meaning) -> Schema:
    return {"description": meaning.text if isinstance(meaning, Meaning) else meaning}


def _required(meaning: str | Meaning | None) -> bool:
    return isinstance(meaning, Meaning) and meaning.default == "required"
