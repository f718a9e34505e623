"""Schema of files that Python reads key by key: plans of each target, and fabric files."""

from __future__ import annotations

from typing import Any

from anabranch.cli.reference import fabric_file
from anabranch.cli.reference.schema.scenario import scenario
from anabranch.cli.reference.schema.tree import tree
from anabranch.cli.reference.schema.value import Schema
from anabranch.deploy.targets.plan.form import PlanForm
from anabranch.files.settings import asked


def plan(form: PlanForm[Any]) -> Schema:
    """A plan file of a target."""
    return tree(asked(form.parse, [form.example]))


def fabric() -> Schema:
    """A fabric file of the controller."""
    schema = tree(fabric_file.keys())
    described = schema["properties"]["fabric"]
    schema["properties"]["fabric"] = {**described, **scenario()["properties"]["fabric"]}
    schema["properties"]["fabric"]["description"] = described["description"]
    return schema
