"""Integration tests of a crate are one program: each program more compiles and links the core once more."""

from __future__ import annotations

from pathlib import Path

CRATES = Path(__file__).resolve().parents[2] / "crates"
REASON = "A program of its own, "


def test_a_crate_has_one_program_of_integration_tests_and_others_say_why() -> None:
    programs = [*CRATES.glob("*/tests/*.rs"), *CRATES.glob("*/tests/*/main.rs")]
    assert len(programs) > 9
    for path in programs:
        if path.parent.name != "it":
            comment = " ".join(line[4:] for line in path.read_text().splitlines() if line.startswith("//! "))
            assert REASON in comment, f"{path}: put its tests into tests/it, or say what asks for a program"


def test_no_test_file_is_left_out_of_its_program() -> None:
    """A file that no `mod` names is never compiled."""
    for path in CRATES.glob("*/tests/it/**/*.rs"):
        if path.name == "main.rs":
            continue
        folder, name = (path.parent.parent, path.parent.name) if path.name == "mod.rs" else (path.parent, path.stem)
        parents = [folder / "main.rs", folder / "mod.rs", folder.with_suffix(".rs")]
        lines = [line for parent in parents if parent.is_file() for line in parent.read_text().splitlines()]
        assert any(line.removeprefix("pub(crate) ") == f"mod {name};" for line in lines), path
