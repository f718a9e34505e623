"""`anabranch.open`: results of a run or of a study."""

from __future__ import annotations

from pathlib import Path

from anabranch.files.errors import AnabranchError
from anabranch.simulate.runs.results import Run
from anabranch.simulate.study.outcome import STUDY_FILE, StudyOutcome, open_study


def open(folder: str | Path) -> Run | StudyOutcome:  # noqa: A001
    """Opens the results of a run or of a study.

    Raises:
        AnabranchError: the folder holds neither, or is not complete.

    """
    if (Path(folder) / STUDY_FILE).is_file():
        return open_study(folder)
    try:
        return Run(folder)
    except AnabranchError:
        raise AnabranchError(
            f"{folder}: no complete run and no complete study; give a folder that `anabranch run` or `anabranch sweep` "
            "has written"
        ) from None
