"""A reproduction as plain data, for `--json`: the verdict on every claim, and where the results are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from anabranch.reproduce.contradiction import Contradiction
from anabranch.reproduce.pages.report import record
from anabranch.reproduce.session import Evaluated


def document(
    evaluated: Sequence[Evaluated], folders: Sequence[Path], opposed: Sequence[Contradiction] = ()
) -> dict[str, Any]:
    """Groups, each with the folder of its report, the number of each verdict and of each check, and all claims.

    A number that is published once counts once. `contradictions` are claims of quick runs on which the record of a full
    run says the opposite. `mutations` has the verdicts of each study with one mechanism broken.
    """
    lines = [line for one in evaluated for line in one.lines]
    return {
        "groups": [
            {
                "group": one.group.label,
                "results": str(folder),
                "quick": one.quick_note,
                "record": one.origin,
                "usable": one.evidence.usable,
            }
            for one, folder in zip(evaluated, folders, strict=True)
        ],
        "verdicts": dict(Counter(line.kind for line in lines if line.counted)),
        "checks": dict(Counter(line.check for line in lines)),
        "contradictions": [
            {
                "group": one.quick.group,
                "id": one.quick.id,
                "what": one.quick.what,
                "quick": one.quick.kind,
                "record": one.full.kind,
            }
            for one in opposed
        ],
        "claims": [record(line) for line in lines],
        "mutations": {
            one.group.label: {
                "note": one.mutations.note,
                "mutations": dict(one.mutations.mutations),
                "claims": [{**asdict(claim), "turned_by": list(claim.turned_by)} for claim in one.mutations.claims],
            }
            for one in evaluated
            if one.mutations is not None
        },
    }
