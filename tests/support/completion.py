"""Completion of the shell, asked as bash asks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "anabranch"


def completed(line: str) -> list[str]:
    """Words that bash would show after `line`."""
    words = line.split(" ")
    environment = {"_ANABRANCH_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run([PROGRAM], env=os.environ | environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()
