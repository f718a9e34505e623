"""The fewest changes from the tables that are observed to those that are desired, in one write."""

from __future__ import annotations

from anabranch.deploy.targets.plan.group import short
from anabranch.deploy.targets.protocol import Change
from anabranch.deploy.targets.table.observe import Observed, Table, TableState
from anabranch.files.atomic_file import write_whole


def change(observed: Observed, desired: TableState) -> Change:
    """The change of the owner's file to `desired`: replaced whole, or removed where nothing is left."""
    old, new = observed.state.tables, desired.tables
    lines, count = [], 0
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        count += 1
        if before is not None and after is not None:
            lines += [f"~- {_text(name, before)}", f"~+ {_text(name, after)}{_moved(before, after)}"]
        elif after is not None:
            lines.append(f"+ {_text(name, after)}")
        elif before is not None:
            lines.append(f"- {_text(name, before)}")

    def commit() -> None:
        if new:
            observed.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(observed.file, desired.as_json())
        else:
            observed.file.unlink(missing_ok=True)

    return Change(lines, count, f"{len(new)} tables, {sum(len(one.entries) for one in new.values())} entries", commit)


def _text(name: str, one: Table) -> str:
    to = ",".join(one.prefixes) or "all IP"
    return f"table {name} {to} -> {one.recipe} seed={one.seed}: {short(one.ports)} weights {short(one.weights)}"


def _moved(before: Table, after: Table) -> str:
    if len(before.entries) != len(after.entries):
        return ""
    changed = sum(one != other for one, other in zip(before.entries, after.entries, strict=True))
    return f", {changed} of {len(after.entries)} entries change"
