"""Crate for a scheme written in Rust, outside the tree: a scheme that works, its tests, a program that runs it.

The template is a crate itself, called `blank-scheme`; a new one is the same under another name.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from anabranch.atomic_folder import written_whole
from anabranch.errors import AnabranchError

TEMPLATE = Path(__file__).parent / "template"
INSTALLED_FROM = Path(__file__).resolve().parents[3]
"""Checkout that the package was installed from, if it was installed by `make build`."""
CRATE = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
KEYWORDS = """
as async await box break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod
move mut pub ref return self static struct super trait true type unsafe use where while abstract become do final
macro override priv try typeof unsized virtual yield
"""
OTHER_CRATES = "alloc core proptest std test"


def write_crate(name: str, into: Path, source: Path | None) -> Path:
    """Writes the crate `into/name`, whole or not at all, with path dependencies on the checkout `source`.

    Raises:
        AnabranchError: the name cannot be a crate's, its folder exists, or there is no checkout.

    """
    check_name(name, "a crate of one's own")
    checkout = find_checkout(source)
    if not into.is_dir():
        raise AnabranchError(f"{into}: there is no such directory; make it, or give another with --into DIR")
    target = into / name
    if target.exists():
        raise AnabranchError(f"{target}: exists already; choose another name, or another directory with --into DIR")
    with written_whole(target) as part:
        for path in sorted(TEMPLATE.rglob("*")):
            if path.is_file():
                written = part / str(path.relative_to(TEMPLATE)).replace("gitignore", ".gitignore")
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(renamed(path.read_text(encoding="utf-8"), name, checkout), encoding="utf-8")
        # The same versions of everything as where it is tested.
        shutil.copyfile(checkout / "Cargo.lock", part / "Cargo.lock")
    return target


def check_name(name: str, kind: str) -> None:
    """Refuses names that Rust has no room for.

    Raises:
        AnabranchError: it cannot be the name of what `kind` says.

    """
    if not CRATE.fullmatch(name) or name in f"{KEYWORDS} {OTHER_CRATES}".split() or name.startswith("anabranch"):
        raise AnabranchError(f"{name}: no name for {kind}; use small letters, digits and -, as in my-scheme")


def find_checkout(source: Path | None) -> Path:
    """Finds the checkout whose crates are depended on.

    Raises:
        AnabranchError: there is none.

    """
    checkout = (source or INSTALLED_FROM).resolve()
    if (checkout / "crates" / "sim" / "Cargo.toml").is_file():
        return checkout
    if source is None:
        raise AnabranchError(
            "this anabranch was not installed from a checkout, whose crates a new one needs; give one with --source DIR"
        )
    raise AnabranchError(f"{source}: no checkout of anabranch, it has no crates/sim; give one with --source DIR")


def renamed(text: str, name: str, checkout: Path) -> str:
    """Renames the crate in a file of the template."""
    words = re.split("[-_]", name)
    return (
        re.sub(r'"(?:\.\./)+(crates/\w+)"', lambda found: json.dumps(f"{checkout.as_posix()}/{found[1]}"), text)
        .replace("blank-scheme", name)
        .replace("blank_scheme", "_".join(words))
        .replace("BLANK_SCHEME", "_".join(words).upper())
        .replace("BlankScheme", "".join(word.capitalize() for word in words))
    )
