"""Whether the fabric is as planned, and if not, why."""

from __future__ import annotations

from anabranch.control.state import Snapshot, SwitchState


def reasons(snapshot: Snapshot) -> list[dict[str, str]]:
    """What keeps the fabric from being as planned: switch and reason, in the order of the switches, ours last."""
    found = [(switch.name, _reason(switch)) for switch in snapshot.switches]
    if snapshot.unplanned:
        found.append(("controller", "a change was seen, and its plan is being made"))
    return [{"switch": name, "reason": reason} for name, reason in found if reason]


def _reason(switch: SwitchState) -> str:
    if not switch.connected:
        return f"not connected: {switch.last_error}" if switch.last_error else "not connected yet"
    if switch.refused:
        return f"refused {switch.differences} changes: {switch.last_error}"
    return f"{switch.differences} changes to come" if switch.differences else ""
