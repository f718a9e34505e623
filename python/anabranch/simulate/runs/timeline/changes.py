"""The run from its start to its end, and what changes in the fabric meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anabranch.simulate.runs.timeline.fabric import Fabric
from anabranch.simulate.runs.timeline.stream import Stream

ARGUMENTS = ("what", "value")
RUN_ARGUMENTS = ("seed", "identity", "version")


def write_changes(stream: Stream, fabric: Fabric, manifest: Mapping[str, Any], topology: Mapping[str, Any]) -> None:
    """Writes a slice of the whole run, and an instant per change until its end, at the port or node that changes."""
    end_ns = round(manifest["end_ns"])
    about = {key: manifest.get(key) for key in RUN_ARGUMENTS}
    stream.slice(stream.track("Run"), 0, end_ns, str(manifest["name"]), about)
    changes = [change for change in topology["changes"] if change["at_ns"] <= manifest["end_ns"]]
    if not changes:
        return
    every = stream.track("Changes")
    for change in changes:
        if "port" in change:
            name, track = fabric.labels[change["port"]], fabric.ports[change["port"]]
        else:
            name, track = topology["nodes"]["name"][change["node"]], fabric.nodes[change["node"]]
        what = change["what"].partition("_")[2]
        at_ns = round(change["at_ns"])
        arguments = {key: change[key] for key in ARGUMENTS}
        stream.instant(every, at_ns, f"{name}: {what}", arguments)
        stream.instant(track, at_ns, what, arguments)
