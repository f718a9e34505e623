"""Feature sets that clippy sees: whatever a feature leaves out of the workspace's run has a second one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def test_crates_with_features_are_linted_without_them() -> None:
    manifests = {path.parent.name: tomllib.loads(path.read_text()) for path in ROOT.glob("crates/*/Cargo.toml")}
    optional = {name for name, manifest in manifests.items() if "features" in manifest}
    (packages,) = re.findall(r"anabranch-,([\w ]+)\) --no-default-features", (ROOT / "Makefile").read_text())
    assert set(packages.split()) == optional
