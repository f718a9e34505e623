"""The table of targets and verbs within `deploy.md`: what each target can, and why not."""

from __future__ import annotations

from anabranch.cli.reference.markdown import code, replace_block, table
from anabranch.deploy.control.switch_kind import SwitchKind, kinds
from anabranch.deploy.targets.registry import COMPARED, TARGETS, WRITTEN, target

BLOCK = "targets"
PARTS = {
    "plan": ("predict",),
    "explain": ("predict",),
    "apply": ("desired", "observe", "change"),
    "diff": ("desired", "observe", "change"),
    "verify": ("verify",),
    "apply --follow": ("follow",),
    "control": ("session",),
    "lab": ("lab",),
}
"""Parts of a target that each verb needs (`deploy.targets.protocol`)."""
OTHERS = tuple(PARTS)[1:]
"""Verbs beside `plan`."""
COMPARE = ("diff", "verify")
"""Verbs of targets that files are written for and that are compared with what runs."""
YES, NO = "yes", "no"


def page(written: str) -> str:
    """The page with its table of targets as they are now."""
    return replace_block(written, BLOCK, f"{_able()}\n{_reasons()}")


def _able() -> str:
    rows = [[code(name), *(_cell(name, verb) for verb in PARTS)] for name in TARGETS]
    rows += [[code(name), "files", *(NO if verb in _refused(name) else YES for verb in OTHERS)] for name in WRITTEN]
    return table(["target", *map(code, PARTS)], rows)


def _cell(name: str, verb: str) -> str:
    lacks = target(name).descriptor.lacks
    if any(part in lacks for part in PARTS[verb]):
        return NO
    if verb == "control":
        (kind,) = (kind for kind in kinds() if kind.target == name)
        return "weights" if type(kind).slicing is SwitchKind.slicing else "weights, slices"
    return YES


def _refused(written: str) -> list[str]:
    """Verbs that a target refuses which files are written for."""
    return [verb for verb in OTHERS if not (written in COMPARED and verb in COMPARE)]


def _reasons() -> str:
    rows = [
        [code(name), ", ".join(code(verb) for verb, parts in PARTS.items() if part in parts), reason]
        for name in TARGETS
        for part, reason in target(name).descriptor.lacks.items()
    ]
    reason = "`anabranch plan` writes files that others install"
    rows += [[code(name), ", ".join(map(code, _refused(name))), reason] for name in WRITTEN]
    return table(["target", "refused", "why, and what else"], rows)
