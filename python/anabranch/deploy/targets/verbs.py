"""The verbs `apply`, `diff`, `verify` and `remove`, for any target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from anabranch.deploy.targets.plan.verification import Verified
from anabranch.deploy.targets.protocol import Change, Target


@dataclass(frozen=True)
class Outcome:
    """The result of a verb: changes that were, or would be, made."""

    lines: list[str]
    """The changes for people; none if all is as it should be."""
    changes: int
    """Number of changes."""
    warnings: list[str]
    summary: str
    """Summary of what is ours when all is done, in a few words."""


def apply(target: Target[Any, Any, Any], plan: str, options: Any, *, dry_run: bool) -> Outcome:
    """Makes the target hold what a plan file says, all or nothing; with `dry_run`, only says what would change."""
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=not dry_run) as observed:
        desired = target.desired(planned, observed)
        change = target.change(planned, observed, desired)
        return _outcome(change, list(desired.warnings), dry_run=dry_run)


def remove(target: Target[Any, Any, Any], plan: str, options: Any, *, dry_run: bool) -> Outcome:
    """Takes away everything of the plan's owner, and nothing else."""
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=not dry_run) as observed:
        return _outcome(target.change(planned, observed, None), [], dry_run=dry_run)


def verify(
    target: Target[Any, Any, Any], plan: str, options: Any, *, seconds: float, connections: int | None
) -> Verified:
    """Compares the target with a plan, then measures its split."""
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=False) as observed:
        desired = target.desired(planned, observed)
        change, warnings = target.change(planned, observed, desired), list(desired.warnings)
        if change:
            return Verified(change.lines, warnings, [], 0.0)
    groups, notes, took_s = target.verify(planned, observed, desired, seconds, connections)
    return Verified([], [*warnings, *notes], groups, took_s)


def _outcome(change: Change, warnings: list[str], *, dry_run: bool) -> Outcome:
    if change and not dry_run:
        change.commit()
    return Outcome(change.lines, len(change), [*warnings, *change.unfinished()], change.remains)
