"""Threads share what changes by one facade a crate, which loom's primitives can stand for: nobody goes round it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.rust_source import code, paths_of

CRATES = Path(__file__).resolve().parents[2] / "crates"
FACADES = {"sim": "sync.rs", "split": "group/sync.rs"}
"""Crates with tests over loom, and the file that alone names the primitives of others."""

ROOTS = re.compile(r"(?<!\w::)\b(?:std|core|alloc|arc_swap)(?=\s*::|\s+as\b)")
MODULES = {("std", "sync"), ("std", "thread"), ("std", "hint"), ("core", "sync"), ("core", "hint"), ("alloc", "sync")}
HARMLESS = {"Arc", "PoisonError", "select_unpredictable"}
"""An `Arc` shares what nobody changes, unless that is a primitive itself."""
BY_HAND = re.compile(r"\bunsafe\s+impl\b[^{;]*\b(?:Send|Sync)\b|\bstatic\s+mut\b|\bthread_local!")


def is_primitive(path: tuple[str, ...]) -> bool:
    """Whether a path from the root of a crate names a primitive of threads, or a module or crate that has some."""
    return len(path) < 2 or path[0] == "arc_swap" or (path[:2] in MODULES and not HARMLESS & {*path[2:3]})


def primitives(source: str) -> Iterator[str]:
    """Primitives of threads that a source names, or makes by hand."""
    text = code(source)
    for root in ROOTS.finditer(text):
        yield from ("::".join(path) for path in paths_of(text[root.start() :]) if is_primitive(path))
    yield from (found.group() for found in BY_HAND.finditer(text))


@pytest.mark.parametrize("crate", FACADES)
def test_only_the_facade_names_primitives_of_threads(crate: str) -> None:
    source = CRATES / crate / "src"
    facade = source / FACADES[crate]
    assert "std::sync::Mutex" in primitives(facade.read_text())
    offenders = [
        f"{path.relative_to(CRATES)}: {primitive}"
        for path in sorted(source.rglob("*.rs"))
        if path != facade and "tests" not in path.relative_to(source).with_suffix("").parts
        for primitive in primitives(path.read_text())
    ]
    assert not offenders, offenders


@pytest.mark.parametrize(
    ("source", "offends"),
    [
        ("use std::sync::Mutex;", True),
        ("use std::sync::{Arc, atomic::AtomicBool};", True),
        ("use std::{fmt, sync::{Arc, RwLock}};", True),
        ("use core::sync::atomic::{self, Ordering};", True),
        ("use std::sync;", True),
        ("use std::sync::*;", True),
        ("use std::*;", True),
        ("use std as library;", True),
        ("let ends = ::std::sync::Barrier::new(2);", True),
        ("let begun = std::thread::spawn(part);", True),
        ("use std::hint::{select_unpredictable, spin_loop};", True),
        ("use std::hint;", True),
        ("use arc_swap::ArcSwap;", True),
        ("unsafe impl<T: Send> Sync for Cell<T> {}", True),
        ("static mut MEETINGS: u64 = 0;", True),
        ("thread_local!(static SEAT: u32 = 0);", True),
        ("use std::sync::{Arc, PoisonError};", False),
        ("use super::sync::{AtomicBool, Mutex, lock};", False),
        ('// std::sync::Mutex\nlet text = "std::thread";', False),
        ("unsafe impl GlobalAlloc for HugePages {}", False),
        ("std::mem::take(&mut self.letters)", False),
        ("use std::hint::select_unpredictable;", False),
    ],
)
def test_the_rule_knows_primitives(source: str, offends: bool) -> None:
    assert bool(list(primitives(source))) == offends
