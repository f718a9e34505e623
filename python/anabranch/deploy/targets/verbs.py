"""The verbs `apply`, `diff`, `verify` and `remove`, for any target."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from anabranch.deploy.confirm.guard import Order, guarded
from anabranch.deploy.confirm.pending import refuse_pending, settle
from anabranch.deploy.targets.plan.verification import Verified
from anabranch.deploy.targets.protocol import Change, Target
from anabranch.files.errors import AnabranchError

POLL_S, LATE_S = 0.1, 10.0


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


def apply(
    target: Target[Any, Any, Any],
    plan: str,
    options: Any,
    *,
    dry_run: bool,
    waits: bool = False,
    confirm_s: float | None = None,
) -> Outcome:
    """Makes the target hold what a plan file says, all or nothing; with `dry_run`, only says what would change.

    With `waits`, it returns when the target has finished what it has to do itself; with `confirm_s`, what was there
    before comes back after so many seconds unless the plan is confirmed.

    Raises:
        AnabranchError: as the target's parts do; an apply waits to be confirmed; with `waits`, what is left may never
            be done, or has not been in time.

    """
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=not dry_run) as observed:
        desired = target.desired(planned, observed)
        change = target.change(planned, observed, desired)
        if not dry_run:
            refuse_pending(target.scope(planned, observed), plan)
        if confirm_s is not None and change and not dry_run:
            scope, before = target.scope(planned, observed), target.restore(observed)
            with guarded(Order(target.name, planned, plan, options, scope, before, confirm_s)) as note:
                outcome = _outcome(change, [*desired.warnings, note], dry_run=dry_run)
        else:
            outcome = _outcome(change, list(desired.warnings), dry_run=dry_run)
        if waits:
            _wait(change)
            return replace(outcome, warnings=list(desired.warnings))
        return outcome


def remove(target: Target[Any, Any, Any], plan: str, options: Any, *, dry_run: bool) -> Outcome:
    """Takes away everything of the plan's owner, and nothing else."""
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=not dry_run) as observed:
        if not dry_run:
            refuse_pending(target.scope(planned, observed), plan)
        return _outcome(target.change(planned, observed, None), [], dry_run=dry_run)


def confirm(target: Target[Any, Any, Any], plan: str, options: Any) -> bool:
    """Keeps a plan that waits to be confirmed; false if none waits.

    Raises:
        AnabranchError: as the target's parts do; the time is over.

    """
    planned = target.read(plan, options)
    with target.observe(planned, options, writes=False) as observed:
        return settle(target.scope(planned, observed)) is not None


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
    notes = [one.note for one in change.unfinished()]
    return Outcome(change.lines, len(change), [*warnings, *notes], change.remains)


def _wait(change: Change) -> None:
    """Waits until the target has nothing left to do."""
    until: float | None = None
    while left := change.unfinished():
        endless = [one.note for one in left if one.within_s is None]
        if endless:
            raise AnabranchError(f"wait: the plan is put, and what is left may never be done: {endless[0]}")
        until = until or time.monotonic() + max(one.within_s or 0.0 for one in left) + LATE_S
        if time.monotonic() > until:
            raise AnabranchError(f"wait: the plan is put, and {LATE_S:g} s after its time this is left: {left[0].note}")
        time.sleep(POLL_S)
