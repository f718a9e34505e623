"""Crate for a scheme written in Rust, outside the tree: a scheme that works, its tests, a program that runs it.

A template is a crate itself, called `blank-scheme`; a new one is the same under another name. Behind the doors of
switches and hosts the schemes to start from are those that the checkout tests.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from anabranch.atomic_folder import written_whole
from anabranch.errors import AnabranchError
from anabranch.hints import choose

TEMPLATE = Path(__file__).parent / "template"
DOORS = Path(__file__).parent / "doors"
"""Template of a crate behind a door, without its scheme."""
TRAITS = {"switches": "SwitchBalancer", "hosts": "HostBalancer"}
"""What a scheme behind each door implements."""
EXAMPLES = Path("crates", "balancers", "tests", "doors")
"""Folder in a checkout of the schemes to start from."""
INSTALLED_FROM = Path(__file__).resolve().parents[3]
"""Checkout that the package was installed from, if it was installed by `make build`."""
CRATE = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
KEYWORDS = """
as async await box break const continue crate dyn else enum extern false fn for gen if impl in let loop match mod
move mut pub ref return self static struct super trait true type unsafe use where while abstract become do final
macro override priv try typeof unsized virtual yield
"""
OTHER_CRATES = "alloc core proptest std test"


def write_crate(name: str, into: Path, source: Path | None, door: str | None = None) -> Path:
    """Writes the crate `into/name`, whole or not at all, with path dependencies on the checkout `source`.

    Without a door the scheme decides in the tables of switches.

    Raises:
        AnabranchError: the name cannot be a crate's, its folder exists, there is no such door, or no checkout.

    """
    check_name(name, "a crate of one's own")
    if door is not None:
        choose(door, list(TRAITS), "--door")
    checkout = find_checkout(source)
    if not into.is_dir():
        raise AnabranchError(f"{into}: there is no such directory; make it, or give another with --into DIR")
    target = into / name
    if target.exists():
        raise AnabranchError(f"{target}: exists already; choose another name, or another directory with --into DIR")
    template = TEMPLATE if door is None else DOORS
    with written_whole(target) as part:
        for path in sorted(template.rglob("*")):
            if path.is_file():
                written = part / str(path.relative_to(template)).replace("gitignore", ".gitignore")
                written.parent.mkdir(parents=True, exist_ok=True)
                written.write_text(renamed(path.read_text(encoding="utf-8"), name, checkout), encoding="utf-8")
        if door is not None:
            (part / "src" / "lib.rs").write_text(example(door, name, checkout), encoding="utf-8")
        # The same versions of everything as where it is tested.
        shutil.copyfile(checkout / "Cargo.lock", part / "Cargo.lock")
    return target


def example(door: str, name: str, checkout: Path) -> str:
    """Text of the scheme behind a door that the checkout tests, as the library of a crate of this name.

    Raises:
        AnabranchError: the checkout has none.

    """
    for path in sorted((checkout / EXAMPLES).glob("small_*.rs")):
        text = path.read_text(encoding="utf-8")
        if f"impl {TRAITS[door]} for" in text:
            for old, blank in zip(spellings(path.stem), spellings("blank-scheme"), strict=True):
                text = text.replace(old, blank)
            return renamed(text.replace("pub(crate)", "pub"), name, checkout)
    raise AnabranchError(f"{checkout / EXAMPLES}: no scheme for --door {door}; give a newer checkout with --source DIR")


def spellings(name: str) -> list[str]:
    """A name as crates, modules, constants and types write it."""
    words = re.split("[-_]", name)
    return ["-".join(words), "_".join(words), "_".join(words).upper(), "".join(word.capitalize() for word in words)]


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
    text = re.sub(r'"(?:\.\./)+(crates/\w+)"', lambda found: json.dumps(f"{checkout.as_posix()}/{found[1]}"), text)
    for blank, new in zip(spellings("blank-scheme"), spellings(name), strict=True):
        text = text.replace(blank, new)
    return text
