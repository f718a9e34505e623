"""Table of verdicts by mutation, kept beside the record of a study: verdicts, not the numbers behind them."""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict
from pathlib import Path

from anabranch._core import MODEL_VERSION, VERSION
from anabranch.files.atomic_file import write_whole
from anabranch.reproduce.claims.group import Group
from anabranch.reproduce.judge.turns import MutationTable, Turns, Verdict
from anabranch.reproduce.records.record import DAMAGED, FOLDER, MUTATIONS, damaged, identity


def keep(group: Group, table: MutationTable, quick_note: str) -> Path:
    """Writes the table of a group in place of an older one, and returns its file.

    Raises:
        AnabranchError: it cannot be written.

    """
    path = group.folder / FOLDER / MUTATIONS
    path.parent.mkdir(exist_ok=True)
    document = {
        "study": identity(group),
        "version": VERSION,
        "model_version": MODEL_VERSION,
        "date": datetime.date.today().isoformat(),
        "quick": quick_note,
        "mutations": dict(table.mutations),
        "claims": [asdict(one) for one in table.claims],
    }
    write_whole(path, json.dumps(document, indent=1) + "\n")
    return path


def kept(group: Group) -> MutationTable | None:
    """The table of a group; None if there is none.

    Raises:
        AnabranchError: it cannot be read.

    """
    path = group.folder / FOLDER / MUTATIONS
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_bytes())
        claims = [
            Turns(
                one["id"],
                one["what"],
                Verdict(**one["whole"]),
                {name: Verdict(**verdict) for name, verdict in one["broken"].items()},
            )
            for one in document["claims"]
        ]
        note = f"{document['date']}, anabranch {document['version']}, model {document['model_version']}"
        note += f", --quick ({document['quick']})" if document["quick"] else ""
        note += "" if document["study"] == identity(group) else "; study.toml has changed since"
        return MutationTable(document["mutations"], claims, note)
    except DAMAGED as error:
        raise damaged(path.parent, error) from None
