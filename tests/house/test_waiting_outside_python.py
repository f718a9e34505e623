"""Waiting ends in Rust and in shell too: loops that poll look at a limit, calls that block are known one by one.

Nothing joins a thread or waits for a process with a limit in Rust's library: such calls stand here with what ends them.
A program of tests has a limit besides (tests/own_world.sh). Sources are read as text, without comments and strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUST = ("crates", "ebpf", "fuzz", "bench")
# Calls that block, of a file, and what ends them.
EXCUSED = {
    ("bench/benches/threads.rs", "thread.join()"): "it has been asked to end",
    ("crates/balancers/tests/it/engine/determinism.rs", "thread.join()"): "a simulation",
    ("crates/c/src/outcome.rs", "join()"): "a look at a thread-local text",
    ("crates/c/tests/it/installed.rs", "command.output()"): "a compiler, pkg-config, or an example, which ends",
    ("crates/c/tests/it/threads.rs", "all.wait()"): "the other threads, which do nothing before",
    ("crates/kernel/src/grace.rs", "waiting.join()"): "one call of the kernel, some 10 ms",
    ("crates/kernel/src/probe.rs", "join()"): "questions to the kernel, which does not wait",
    ("crates/kernel/tests/it/objects.rs", "status()"): "a compiler, asked for by hand",
    ("crates/kernel/tests/it/pinned.rs", "looks.join()"): "it looks at the deadline",
    ("crates/network/src/simulation_thread.rs", "loop"): "its caller is asked every 50 ms whether it goes on",
    ("crates/network/src/simulation_thread.rs", "reports.recv()"): "the engine's beginning, or its error",
    ("crates/network/src/simulation_thread.rs", "steps.recv()"): "the driver's next step, or that there is no driver",
    ("crates/network/src/simulation_thread.rs", "thread.join()"): "it has been asked to end",
    ("crates/record/src/whole_file.rs", "status()"): "mkfifo",
    ("crates/record/src/whole_file.rs", "reader.join()"): "the writer has closed",
    ("crates/record/tests/attack/campaign.rs", "join()"): "a scenario that is made smaller, by 600 trials at most",
    ("crates/record/tests/attack/campaign.rs", "watcher.join()"): "it has been asked to end",
    ("crates/record/tests/attack/main.rs", "checked.join()"): "two additions",
    ("crates/record/tests/attack/shrink.rs", "while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(_)"): (
        "the other end of the channel is dropped"
    ),
    ("crates/record/tests/it/captures/tshark.rs", "child.wait_with_output()"): "timeout(1)",
    ("crates/record/tests/it/captures/tshark.rs", "feeding.join()"): "its reader has ended",
    ("crates/sim/src/meeting.rs", "barrier.wait()"): "the other threads, which come to the meeting or have left",
    ("crates/sim/src/meeting.rs", "while self.meetings.load(Ordering::Acquire) == meeting"): "the same",
    ("crates/sim/src/simulation/parts.rs", "thread.join()"): "a run, which ends in all parts at once",
    ("crates/sim/src/tests/interleavings.rs", "engine.join()"): "loom, which finds threads that never end",
    ("crates/sim/src/tests/interleavings.rs", "other.join()"): "the same",
    ("crates/sim/src/tests/threads.rs", "waiting.join()"): "a meeting that another thread has left",
    ("crates/split/examples/per_packet.rs", "changes.join()"): "it has been asked to end",
    ("crates/split/examples/udp_load_balancer.rs", "while !self.stopped.load(Ordering::Relaxed)"): (
        "it forwards until it is stopped"
    ),
    ("crates/split/tests/it/examples.rs", "thread.join()"): "it has been asked to end",
    ("crates/split/tests/it/threads/interleavings.rs", "thread.join()"): "loom, which finds threads that never end",
    ("crates/split/tests/it/threads/interleavings.rs", "update.join()"): "the same",
    ("crates/split/tests/it/threads/interleavings.rs", "updates.join()"): "the same",
    ("tests/limit.sh", 'wait "$command"'): "the watchdog",
    ("tests/limit.sh", 'wait "$watchdog"'): "it has been ended",
}
# Strings and characters, comments; lifetimes are no characters.
UNREAD = re.compile(r'r#*".*?"#*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
# With the name that a method is called of, where there is one on the same line.
BLOCKS = re.compile(r"(?:\b\w+)?\.(?:join|recv|wait|wait_with_output|output|status|accept|wait_while)\(\)|\bpark\(\)")
# Loops without an end of their own.
LOOP = re.compile(r"\b(?:loop|while\b[^{;]*|for \w+ in [\w.]*\.\.)\s*\{")
POLLS = re.compile(r"\bsleep\(|\byield_now\(|\bspin_loop\(|\brecv_timeout\(|\btry_recv\(|\btry_wait\(|\.load\(Ordering")
LIMITS = re.compile(r"elapsed\(\)|deadline|DEADLINE|checked_sub\(|timeout_at", re.ASCII)
PROCESSES = re.compile(r"\bCommand\b|\bChild\b")

SHELL_WAITS = re.compile(r"^\s*wait\b.*|^\s*(?:while|until)\b.*(?:\n(?!\s*done\b).*)*\bsleep\b.*", re.MULTILINE)
SHELL_LIMITS = re.compile(r"\btimeout\b|SECONDS|-lt \d|\{1\.\.\d+\}|seq \d")


def code(source: str) -> str:
    """Rust without comments and texts."""
    return UNREAD.sub("_", source)


def body(text: str, start: int) -> str:
    """Block that begins at an opening brace."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start : at + 1]
    return text[start:]


def rust_offenders(source: str) -> Iterator[str]:
    """Calls that block, and conditions of loops that poll without a limit."""
    text = code(source)
    for found in BLOCKS.finditer(text):
        call = found.group().lstrip(".").strip()
        if not call.endswith(("status()", "output()")) or PROCESSES.search(text):
            yield call
    for found in LOOP.finditer(text):
        head, block = found.group()[:-1].strip(), body(text, found.end() - 1)
        if POLLS.search(f"{head} {block}") and not LIMITS.search(head + block):
            yield re.sub(r"\(Duration[^)]*\)\)?", "(_)", head)


def shell_offenders(source: str) -> Iterator[str]:
    """Waits and loops that sleep, without a limit."""
    without = re.sub(r"^\s*#.*", "", source, flags=re.MULTILINE)
    for found in SHELL_WAITS.finditer(without):
        if not SHELL_LIMITS.search(found.group()):
            yield found.group().strip().splitlines()[0].split(" 2>")[0]


def shell_files() -> Iterator[Path]:
    """Scripts, and what else a shell runs."""
    yield from (ROOT / name for name in ("Makefile", "Dockerfile", ".ci/run", "ebpf/build"))
    for folder in ("tests", "bench", "packaging", "crates", "vectors", "examples", "studies"):
        yield from sorted((ROOT / folder).rglob("*.sh"))


def test_what_waits_is_known() -> None:
    found = {
        (str(path.relative_to(ROOT)), one)
        for folder in RUST
        for path in sorted((ROOT / folder).rglob("*.rs"))
        if "target" not in path.parts
        for one in rust_offenders(path.read_text())
    }
    found |= {(str(path.relative_to(ROOT)), one) for path in shell_files() for one in shell_offenders(path.read_text())}
    assert found == set(EXCUSED), "\n".join(
        [f"{name}: {what}: waits without a limit" for name, what in sorted(found - {*EXCUSED})]
        + [f"{name}: {what}: is excused, and not there" for name, what in sorted({*EXCUSED} - found)]
    )


@pytest.mark.parametrize(
    ("source", "offends"),
    [
        ("reader.join().unwrap();", True),
        ("path.join(name)", False),
        ("// reader.join()", False),
        ('say("reader.join()");', False),
        ("receiver.recv().unwrap();", True),
        ("receiver.recv_timeout(LIMIT).unwrap();", False),
        ("let child: Child = made;\nchild.wait().unwrap();", True),
        ("Command::new(_).output().unwrap();", True),
        ("run.status()", False),
        ("loop { if came() { break; } thread::sleep(STEP); }", True),
        ("loop { if came() { break; } assert!(begun.elapsed() < LIMIT); thread::sleep(STEP); }", False),
        ("while !came.load(Ordering::Relaxed) {}", True),
        ("while !came.load(Ordering::Relaxed) && Instant::now() < deadline { spin_loop(); }", False),
        ("while let Some(one) = queue.pop() { work(one); }", False),
        ("for round in 1.. { if came.load(Ordering::Relaxed) { break; } }", True),
        ("for round in 1..9 { if came() { break; } }", False),
        ("for (number, row) in (1..).zip(rows) { check(row); }", False),
    ],
)
def test_the_rule_tells_rust_apart(source: str, offends: bool) -> None:
    assert bool(list(rust_offenders(source))) == offends


@pytest.mark.parametrize(
    ("source", "offends"),
    [
        ("sleep 9 &\nwait\n", True),
        ("until came; do\n    sleep 1\ndone\n", True),
        ("while ! came; do sleep 1; done\n", True),
        ("for _ in {1..50}; do came && break; sleep 1; done\n", False),
        ("while ! came && [ $SECONDS -lt 60 ]; do sleep 1; done\n", False),
        ("while read -r line; do say; done\n", False),
        ("# wait for it\n", False),
    ],
)
def test_the_rule_tells_shell_apart(source: str, offends: bool) -> None:
    assert bool(list(shell_offenders(source))) == offends
