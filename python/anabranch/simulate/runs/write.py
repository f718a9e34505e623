"""Files of a run: tables, the resolved scenario, the topology, captures, the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from anabranch._core import Scenario
from anabranch.files.atomic_folder import written_whole
from anabranch.simulate.runs.execute import Executed
from anabranch.simulate.runs.folder import MANIFEST


def write(
    scenario: Scenario,
    executed: Executed,
    folder: Path,
    command: Sequence[str],
    csv: bool,
    own_scheme: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Writes all files of a run, the manifest last. `own_scheme` describes the scheme of one's own, if it had one."""
    # Polars takes a while to load: not before there is something to write.
    import polars as pl

    from anabranch.simulate.runs.frames import flow_frame, frames, write_frames
    from anabranch.simulate.runs.manifest import manifest

    topology = scenario.topology()
    with written_whole(folder) as part:
        with (part / "topology.json").open("w", encoding="utf-8") as file:
            file.writelines(document(topology))
            file.write("\n")
        # The rest needs the nodes alone, and on a large fabric ports take as much memory as their table.
        del topology["ports"]
        nodes = topology["nodes"]["name"]
        tables = frames(executed.run, nodes)
        files = {"scenario.toml": 1, "topology.json": 1}
        files |= write_frames({"flows": flow_frame(executed.run, nodes), **tables}, part, csv)
        (part / "scenario.toml").write_text(scenario.resolved_toml(), encoding="utf-8")
        files |= {Path(name).name: 1 for name in executed.run.write_captures(str(part))}
        flows = pl.scan_parquet(part / "flows.parquet")
        written = manifest(scenario, executed, topology, tables["ports"], flows, files, command) | dict(own_scheme)
        (part / MANIFEST).write_text(json.dumps(written, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def document(value: Any) -> Iterator[str]:
    """JSON of nested dicts, a list at a time: the text of a large fabric is larger than its columns."""
    if not isinstance(value, dict):
        yield json.dumps(value)
        return
    for index, (key, item) in enumerate(value.items()):
        yield f"{', ' if index else '{'}{json.dumps(key)}: "
        yield from document(item)
    yield "}" if value else "{}"
