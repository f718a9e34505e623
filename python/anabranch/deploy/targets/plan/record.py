"""The output of `apply`, `diff`, `verify` and `remove` as plain data, for `--json`."""

from __future__ import annotations

from typing import Any

from anabranch.deploy.targets.plan.verification import Measured, Verified
from anabranch.deploy.targets.verbs import Outcome


def changes(outcome: Outcome, target: str, plan: str | None, *, dry_run: bool) -> dict[str, Any]:
    """Changes that were made, or would be; `plan` is None where there was none to go by."""
    return {
        "target": target,
        "plan": plan,
        "dry_run": dry_run,
        "changes": outcome.changes,
        "lines": outcome.lines,
        "warnings": outcome.warnings,
        "summary": outcome.summary,
    }


def verified(verification: Verified, target: str, plan: str) -> dict[str, Any]:
    """Differences between plan and target, and the measured split of every group."""
    return {
        "target": target,
        "plan": plan,
        "verdict": verification.verdict.value,
        "lines": verification.lines,
        "warnings": verification.warnings,
        "measured_s": verification.seconds,
        "groups": [_group(one) for one in verification.groups],
    }


def _group(one: Measured) -> dict[str, Any]:
    verdict, reason = one.judged
    rows = zip(one.ports, one.up, one.asked, one.planned, one.packets, strict=True)
    return {
        "name": one.name,
        "recipe": one.recipe,
        "verdict": verdict.value,
        "reason": reason,
        "mape_pct": one.mape_pct,
        "asked_mape_pct": one.asked_mape_pct,
        "counted": one.counted,
        "total": one.total,
        "paths": [
            {
                "path": path,
                "port": port,
                "up": up,
                "asked": asked,
                "planned": planned,
                "got": count / one.total if one.total else None,
                "got_count": count,
            }
            for path, (port, up, asked, planned, count) in enumerate(rows, 1)
        ],
    }
