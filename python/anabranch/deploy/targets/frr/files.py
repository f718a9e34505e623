"""Files for a fabric of routers that run FRR: each router's configuration, and the plan that it is compared with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from anabranch.deploy.targets.frr.configuration import configuration
from anabranch.deploy.targets.frr.fabric import read
from anabranch.deploy.targets.frr.plan_file import plan_text
from anabranch.deploy.targets.frr.written import WrittenRouters
from anabranch.deploy.targets.written import refuse_foreign
from anabranch.files.atomic_folder import written_whole
from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.load import read_text

CONFIGURATION, PLAN, RECORD = "frr.conf", "plan.toml", "routers.json"


def write(
    file: str | Path,
    folder: str | Path,
    balance: str = "",
    pairs: Sequence[tuple[str, str]] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> WrittenRouters:
    """Writes the folder, whole or not at all; one that was written before is replaced.

    Args:
        file: the fabric, with the prefixes of its leaves.
        folder: to write.
        balance: not given; routers split by weights.
        pairs: none are taken; a router is configured towards all leaves.
        overrides: none are taken.

    Raises:
        AnabranchError: bad input, a fabric that FRR has no room for, or a folder that cannot be written.

    """
    if balance or pairs or overrides:
        what = f"target: {balance}" if balance else f"pair: {' '.join(pairs[0])}" if pairs else f"-o {overrides[0][0]}"
        raise AnabranchError(f"{what}: not used with routers, which split by weights towards all leaves; leave it out")
    text, name, target = read_text(file), str(file), Path(folder)
    refuse_foreign(target, RECORD)
    routers = read(text, name)
    for router in routers.topology.switches:
        if "/" in router or router.startswith(".") or not router.isprintable() or " " in router:
            raise AnabranchError(
                f"{name}: fabric: {router}: no name for a folder and a host; call the router otherwise"
            )
    written = WrittenRouters(str(target), routers)
    with written_whole(target) as part:
        for router in routers.topology.switches:
            (part / router).mkdir()
            (part / router / CONFIGURATION).write_text(configuration(router, routers), encoding="utf-8")
            (part / router / PLAN).write_text(plan_text(router, routers), encoding="utf-8")
        (part / RECORD).write_text(json.dumps(written.record, indent=2) + "\n", encoding="utf-8")
    return written
