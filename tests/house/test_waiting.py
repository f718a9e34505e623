"""Waiting ends: a loop that polls has a limit of its own, and every test has one besides.

Loops of coroutines are bounded by who awaits them (`asyncio.wait_for`), and end when they are cancelled.
`pytest-timeout` ends a test that any call holds (pyproject.toml); `tests/limit.sh` ends a whole run, Rust's too.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("python", "tests", "bench", "packaging", "vectors", "studies", "examples")
# What pauses a loop that polls.
PAUSES = {"sleep", "wait"}
# Words in the names of limits.
LIMITS = ("deadline", "until", "timeout", "patience", "monotonic", "silence")
# Loops that wait for a computation of this tree, which takes as long as it takes; or end by what the rule cannot see.
EXCUSED = {
    "python/anabranch/deploy/confirm/revert.py: True": "goes back until it has; who is left with it kills it",
    "bench/control/outage.py: count < due or not last": "ends after its event, which it asks",
    "python/anabranch/simulate/runs/execute.py: not wait([running], WATCH_SECONDS).done": (
        "a simulation; Ctrl-C ends it"
    ),
    "python/anabranch/simulate/runs/own_program.py: True": "a simulation; Ctrl-C ends it",
    "python/anabranch/simulate/study/cell_process_main.py: not wait([running], WATCH_SECONDS).done": (
        "a simulation; the death of the process that asked for it ends it"
    ),
}
# What says that a thread, task or future of the own process has ended, and what reads a stream to its end.
ENDS = {"is_set", "is_alive", "done", "wait", "recv"}


def parts(loop: ast.While) -> Iterator[ast.AST]:
    """Nodes of a loop, without those of loops within it."""
    waiting: list[ast.AST] = [loop.test, *loop.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.While):
            waiting += ast.iter_child_nodes(node)


def names(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Names, and names of attributes."""
    for node in nodes:
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
        if isinstance(name, str):
            yield name


def asked_of_others(loop: ast.While) -> set[str]:
    """Names of methods that a loop's condition calls."""
    calls = (node.func for node in ast.walk(loop.test) if isinstance(node, ast.Call))
    return {method.attr for method in calls if isinstance(method, ast.Attribute)}


def polls(loop: ast.While) -> bool:
    """Whether a loop asks again and again for something that others do: it pauses, or does nothing at all."""
    if all(isinstance(one, ast.Pass | ast.Continue) for one in loop.body):
        return not (isinstance(loop.test, ast.Call) and set(names(ast.walk(loop.test.func))) & (ENDS | {"any"}))
    calls = (node.func for node in parts(loop) if isinstance(node, ast.Call))
    return bool(PAUSES & set(names(calls)))


def limited(loop: ast.While) -> bool:
    """Whether a loop compares with a limit, in its condition or in one within it, or gives one to what it calls."""
    looked_at: list[ast.AST] = [loop.test]
    for node in parts(loop):
        if isinstance(node, ast.If | ast.IfExp | ast.Assert):
            looked_at.append(node.test)
        elif isinstance(node, ast.Call):
            looked_at += [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
    found = (name.lower() for node in looked_at for name in names(ast.walk(node)))
    return any(word in name for name in found for word in LIMITS)


def ends(loop: ast.While) -> bool:
    """Whether a loop ends by what it does itself, or with a thread, task or future of its own process."""
    asked = set(names(ast.walk(loop.test)))
    if asked_of_others(loop) & ENDS:
        return True
    counted = (node.target for node in parts(loop) if isinstance(node, ast.AugAssign))
    popped = (
        node.func.value
        for node in parts(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
    )
    return bool(asked & {*names(counted), *names(popped)})


def offenders(source: str, name: str) -> Iterator[str]:
    """Loops that may wait for ever, as `file: condition`."""

    def visit(node: ast.AST, awaited: bool) -> Iterator[str]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            awaited = isinstance(node, ast.AsyncFunctionDef)
        if isinstance(node, ast.While) and not awaited and polls(node) and not limited(node) and not ends(node):
            yield f"{name}: {ast.unparse(node.test)}"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, awaited)

    yield from visit(ast.parse(source), False)


def test_no_loop_waits_without_a_deadline() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = [one for path in files for one in offenders(path.read_text(), str(path.relative_to(ROOT)))]
    assert set(found) == set(EXCUSED), "\n".join({*found} ^ {*EXCUSED})


@pytest.mark.parametrize(
    ("loop", "offends"),
    [
        ("while not came(): pass", True),
        ("while len(read()) < 40: pass", True),
        ("while 'ready' not in process.stdout.readline(): pass", True),
        ("while not came(): time.sleep(0.1)", True),
        ("def serve():\n    while True: time.sleep(1)", True),
        ("while not came() and time.monotonic() < deadline: time.sleep(0.1)", False),
        ("while not came():\n    assert run.poll() is None\n    time.sleep(0.1)", True),
        ("while done < count: time.sleep(0.1)", True),
        ("deadline = 1\nwhile not came():\n    print(deadline)\n    time.sleep(0.1)", True),
        ("while not came():\n    if monotonic() > deadline: raise Late\n    time.sleep(0.1)", False),
        ("while not came(): event.wait(timeout=until - monotonic())", False),
        ("async def serve():\n    while True: await asyncio.sleep(1)", False),
        ("while not ended.is_set(): time.sleep(1)", False),
        ("while tried < 3:\n    tried += 1\n    time.sleep(1)", False),
        ("while waiting: waiting.pop()", False),
    ],
)
def test_the_rule_tells_loops_apart(loop: str, offends: bool) -> None:
    assert bool(list(offenders(loop, "x"))) == offends


def test_every_test_has_a_limit() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert 120 < options["timeout"] < options["faulthandler_timeout"] <= 900
    assert options["faulthandler_exit_on_timeout"]
