"""Whether the fabric is as planned, and if not, why."""

from __future__ import annotations

from anabranch.deploy.control.cable import FAULTS
from anabranch.deploy.control.state import SECONDARY, Snapshot, SwitchState
from anabranch.files.units import elapsed


def reasons(snapshot: Snapshot) -> list[dict[str, str]]:
    """Reasons why the fabric is not as planned: switch and reason; those of links after switches, ours last."""
    by_switch = [(switch.name, _reason(switch, snapshot)) for switch in snapshot.switches]
    by_switch += [
        (
            source,
            f"at least {100 * share:.0f} % of what leaves for {target} does not arrive, by the counters of both ends",
        )
        for link in snapshot.links
        for source, target, share in ((link.a, link.b, link.lost_share[0]), (link.b, link.a, link.lost_share[1]))
        if link.up and share
    ]
    by_switch += [(cable.switch, cable.text) for cable in snapshot.cables if cable.verdict in FAULTS]
    if snapshot.unplanned:
        by_switch.append(("controller", "a change was seen, and its plan is being made"))
    return [{"switch": name, "reason": reason} for name, reason in by_switch if reason]


def _reason(switch: SwitchState, snapshot: Snapshot) -> str:
    if not switch.connected:
        return _absence(switch, snapshot)
    if switch.refused:
        return f"refused {switch.differences} changes: {switch.last_error}"
    if switch.role == SECONDARY:
        return "another controller is its primary; this one changes nothing"
    return f"{switch.differences} changes to come" if switch.differences else ""


def _absence(switch: SwitchState, snapshot: Snapshot) -> str:
    """Why a switch is not connected, and its last state."""
    if switch.lost_s:
        absence = f"lost {elapsed(snapshot.time_s - switch.lost_s)} ago"
    else:
        absence = "not connected" if switch.last_error else "not connected yet"
    if switch.last_error:
        absence += f": {switch.last_error}"
    # The handshake failed before the switch gave its name. Switches that we connect to have an address.
    if not switch.address and snapshot.handshake_failed_s > switch.lost_s:
        ago = elapsed(snapshot.time_s - snapshot.handshake_failed_s)
        absence += f"; {ago} ago a handshake failed: {snapshot.handshake_error}"
    return absence
