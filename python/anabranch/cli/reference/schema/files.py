"""Schemas as files: one for each kind of file that people write."""

from __future__ import annotations

import json

from anabranch.cli.reference.schema.scenario import scenario, study
from anabranch.cli.reference.schema.settings import fabric, plan
from anabranch.cli.reference.schema.value import Schema
from anabranch.deploy.targets.registry import plan_forms

DIALECT = "http://json-schema.org/draft-07/schema#"
"""What the editors' servers for TOML read."""


def schemas() -> dict[str, Schema]:
    """All schemas by the kind of file."""
    by_name = {
        "scenario": ("Scenario of anabranch", scenario()),
        "study": ("Study of anabranch", study()),
        "fabric": ("Fabric file of anabranch control", fabric()),
        **{
            f"plan-{target}": (f"Plan of anabranch for the target {target}", plan(form))
            for target, form in plan_forms().items()
        },
    }
    return {name: {"$schema": DIALECT, "title": title, **schema} for name, (title, schema) in by_name.items()}


def pages() -> dict[str, str]:
    """Text of each schema by the name of its file."""
    return {f"{name}.json": f"{json.dumps(schema, indent=1)}\n" for name, schema in schemas().items()}
