"""The status page and its data: what a snapshot says to people, and to programs as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from anabranch._core import VERSION
from anabranch.deploy.control.log import Event
from anabranch.deploy.control.pages.drawing import picture, switch_state
from anabranch.deploy.control.pages.health import reasons
from anabranch.deploy.control.state import GroupState, MemberState, Snapshot
from anabranch.files.units import amount, bit_rate, count, elapsed
from anabranch.report.plot.heat import STOPS

REFRESH_S = 2
SWITCHES_MAX, GROUPS_MAX, EVENTS_MAX, REASONS_MAX = 100, 200, 50, 5
"""Rows of the page; what is left out is counted, and stands in status.json."""
BAR_WIDTH = 200


@dataclass(frozen=True)
class Segment:
    """A member's part of a bar."""

    x: float
    width: float
    number: int
    """Number of the member, for its colour."""


@dataclass(frozen=True)
class GroupRow:
    """A group with its two bars."""

    group: GroupState
    planned: list[Segment]
    measured: list[Segment]
    off_points: float | None
    """Half the sum of differences between the shares, in percentage points: what goes another way than planned."""


def page(snapshot: Snapshot, events: Sequence[Event]) -> str:
    """The page as text."""
    rows = _shown_rows(snapshot.groups)
    lacking = reasons(snapshot)
    return _template().render(
        snapshot=snapshot,
        picture=picture(snapshot),
        facts=_facts(snapshot),
        reasons=lacking[:REASONS_MAX],
        reasons_left=max(0, len(lacking) - REASONS_MAX),
        switches=[(switch, switch_state(switch)) for switch in snapshot.switches[:SWITCHES_MAX]],
        switches_left=max(0, len(snapshot.switches) - SWITCHES_MAX),
        groups=rows[:GROUPS_MAX],
        groups_left=max(0, len(rows) - GROUPS_MAX),
        down=[link for link in snapshot.links if not link.up],
        slow=[link for link in snapshot.links if link.up and link.rate_bps < link.built_rate_bps],
        events=list(reversed(events))[:EVENTS_MAX],
        stops=STOPS,
        bar_width=BAR_WIDTH,
        refresh_s=REFRESH_S,
        version=VERSION,
        ago=_ago(snapshot.time_s),
    )


def style() -> bytes:
    """The page's style sheet, a file of its own: the page may then forbid all style within itself."""
    return files("anabranch.deploy.control.pages").joinpath("templates/page.css").read_bytes()


def record(snapshot: Snapshot) -> dict[str, Any]:
    """The whole snapshot as plain data; whether it is converged, and if not why, on top."""
    return {**_head(snapshot), **asdict(snapshot)}


def _head(snapshot: Snapshot) -> dict[str, Any]:
    return {"converged": snapshot.converged, "role": snapshot.role, "reasons": reasons(snapshot)}


def as_json(snapshot: Snapshot) -> str:
    """The same as `record`, for the controller's page."""
    # Row by row: one call of the encoder for all would hold the controller's loop, as it holds the interpreter.
    head = {**_head(snapshot), "version": VERSION}
    parts = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    for name, value in vars(snapshot).items():
        if isinstance(value, tuple):
            rows = ",\n  ".join(json.dumps(asdict(row)) for row in value)
            parts.append(f"{json.dumps(name)}: [\n  {rows}\n]")
        else:
            parts.append(f"{json.dumps(name)}: {json.dumps(value, default=dict)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("anabranch.deploy.control.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        amount=amount, bit_rate=bit_rate, count=count, duration_s=elapsed, clock=_clock, pct=_pct, px=_px
    )
    return environment.get_template("status.html")


def _facts(snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """Facts at the top of the page: name, value, and a remark."""
    connected = sum(switch.connected for switch in snapshot.switches)
    up = sum(link.up for link in snapshot.links)
    ago = _ago(snapshot.time_s)
    sizes = [sum(getattr(switch, what) for switch in snapshot.switches) for what in ("groups", "flows", "meters")]
    return {
        "switches connected": (f"{connected} of {len(snapshot.switches)}", ""),
        "links in use": (f"{up} of {len(snapshot.links)}", ""),
        **({"role": (snapshot.role, "")} if snapshot.role else {}),
        "groups": (count(sizes[0]), f"{count(sizes[1])} flows" + (f", {count(sizes[2])} meters" if sizes[2] else "")),
        "weights": (snapshot.policy, f"recipe {snapshot.recipe}"),
        "plans": (count(snapshot.plans), f"last {ago(snapshot.planned_s)}"),
        "counters read": (ago(snapshot.measured_s), ""),
        "running for": (
            elapsed(snapshot.time_s - snapshot.started_s),
            f"since {_clock(snapshot.started_s)[5:16]} UTC",
        ),
    }


def _row(group: GroupState) -> GroupRow:
    shares = [(member.wanted_share, member.measured_share) for member in group.members]
    known = [(planned, measured) for planned, measured in shares if measured is not None]
    off = 50 * sum(abs(planned - measured) for planned, measured in known) if known else None
    planned = _segments(group.members, lambda member: member.wanted_share)
    return GroupRow(group, planned, _segments(group.members, lambda member: member.measured_share or 0.0), off)


def _segments(members: Sequence[MemberState], share: Callable[[MemberState], float]) -> list[Segment]:
    segments, x = [], 0.0
    for number, member in enumerate(members):
        width = share(member) * BAR_WIDTH
        segments.append(Segment(x, max(0.0, width - 1), number % 8))
        x += width
    return segments


def _shown_rows(groups: Sequence[GroupState]) -> list[GroupRow]:
    """Groups with a choice, in the order of the switches; those furthest from the plan alone if they are too many."""
    rows = [_row(group) for group in groups if len(group.members) != 1]
    if len(rows) > GROUPS_MAX:
        rows.sort(key=lambda row: -(row.off_points or 0.0))
    return rows


def _ago(now_s: float) -> Callable[[float], str]:
    def ago(then_s: float) -> str:
        return f"{elapsed(max(0.0, now_s - then_s))} ago" if then_s else "never"

    return ago


def _clock(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, timezone.utc).isoformat(sep=" ", timespec="milliseconds")[:-6]


def _pct(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _px(value: float) -> str:
    return f"{value:.1f}"
