"""The page of plan files: every key of each target."""

from __future__ import annotations

from anabranch.cli.reference.keys import key_rows
from anabranch.cli.reference.markdown import GENERATED
from anabranch.deploy.targets.registry import DEFAULT, plan_forms
from anabranch.files.settings import asked


def page() -> str:
    """The page `plan-file.md`."""
    parts = [
        f"""## {form.heading}

The target `{name}`{", which is the default" if name == DEFAULT else ""}: {form.about}. A plan with its keys:

```toml
{form.example}```

{key_rows(asked(form.parse, [form.example]))}"""
        for name, form in plan_forms().items()
    ]
    return f"""# Plan files

{GENERATED}

A plan says which packets go over which paths in which shares. `anabranch apply`, `diff`, `verify`, `remove` and
`explain --plan` read it. Unknown keys and values are errors that name file, key and value and give a hint. Each
target has keys of its own; a plan of `name`, `match` with `ip_dst` and `arp`, `ports` and `weights` is one for Open
vSwitch and for Linux, if the ports have these names in both.

{chr(10).join(parts)}"""
