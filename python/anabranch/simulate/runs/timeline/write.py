"""Writing of a run's trace."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.files.atomic_file import write_whole
from anabranch.simulate.runs.timeline.target import check_target

if TYPE_CHECKING:
    import polars as pl


def write_timeline(
    path: str | Path, manifest: Mapping[str, Any], topology: Mapping[str, Any], tables: Mapping[str, pl.DataFrame]
) -> None:
    """Writes the trace of a run; the same bytes for the same results.

    Args:
        path: File to write.
        manifest: The run's manifest.
        topology: Its nodes, ports and changes, as in `topology.json`.
        tables: `flows` and `ports`, and what else was recorded of `queues`, `windows` and `events`.

    Raises:
        AnabranchError: the file cannot be written, or perfetto is not installed.

    """
    check_target(path)
    from anabranch.simulate.runs.timeline import changes, packets
    from anabranch.simulate.runs.timeline.changes import write_changes
    from anabranch.simulate.runs.timeline.counters import write_ports, write_queues, write_windows
    from anabranch.simulate.runs.timeline.fabric import fabric_tracks
    from anabranch.simulate.runs.timeline.flows import write_flows
    from anabranch.simulate.runs.timeline.packets import write_packets
    from anabranch.simulate.runs.timeline.stream import Stream

    content = BytesIO()
    flows = tables["flows"]
    arguments = (*flows.columns, *changes.RUN_ARGUMENTS, *changes.ARGUMENTS, *packets.ARGUMENTS)
    stream = Stream(content, dict.fromkeys(arguments))
    fabric = fabric_tracks(stream, topology)
    write_changes(stream, fabric, manifest, topology)
    write_flows(stream, fabric, flows, manifest["end_ns"])
    write_ports(stream, fabric, tables["ports"])
    if "queues" in tables:
        write_queues(stream, fabric, tables["queues"])
    if "windows" in tables:
        write_windows(stream, fabric, tables["windows"], flows)
    if "events" in tables:
        write_packets(stream, fabric, tables["events"], flows)
    stream.flush()
    write_whole(path, content.getvalue())
