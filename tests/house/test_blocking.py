"""Calls that may block for ever have a limit, or stand here with the reason why they need none.

Coroutines are bounded by who awaits them. In tests `pytest-timeout` ends a call and shows where it stood, but it cannot
end a thread: threads are daemons everywhere, so that none keeps its process from ending.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("python", "bench", "packaging", "vectors", "studies", "examples")
# Calls that wait as long as it takes: of a file, as they are written.
EXCUSED = {
    (
        "python/anabranch/files/atomic_file.py",
        "fcntl.flock(handle, fcntl.LOCK_EX)",
    ): "a new file; who looks at it lets go",
    (
        "python/anabranch/simulate/learning/dialogue.py",
        "self._questions.get()",
    ): "a simulation, whose end is a question too",
    (
        "python/anabranch/simulate/learning/dialogue.py",
        "self._answers.get()",
    ): "an agent learns as long as it learns; stop()",
    ("python/anabranch/simulate/learning/dialogue.py", "self._thread.join()"): "a simulation that has been cancelled",
    ("studies/valo/splitting/job.py", "filling.result()"): "a computation; Ctrl-C ends it",
    (
        "python/anabranch/simulate/study/cell_process.py",
        "pickle.load(process.stdout)",
    ): "a simulation; cancel() kills it",
    (
        "python/anabranch/simulate/study/cell_process_main.py",
        "pickle.load(sys.stdin.buffer)",
    ): "a server: its client ends it",
    (
        "python/anabranch/simulate/study/dask_cluster.py",
        "as_completed(list(futures))",
    ): "is asked only when it has an answer",
    (
        "python/anabranch/simulate/study/dask_cluster.py",
        "future.result()",
    ): "has ended; Dask's network has its own limits",
    ("python/anabranch/split/tolerance/counters.py", "sys.stdin.buffer.read()"): "a filter: its input ends it",
    ("python/anabranch/deploy/confirm/revert.py", "pickle.load(sys.stdin.buffer)"): "`apply` gives it, or ends",
    ("python/anabranch/deploy/confirm/revert.py", "sys.stdin.buffer.read()"): "ends with `apply`",
}
# Functions, and the number of arguments by position that has the limit among them; `timeout=` is one always.
FUNCTIONS = {
    "subprocess.run": 99,
    "subprocess.call": 99,
    "subprocess.check_call": 99,
    "subprocess.check_output": 99,
    "select.select": 4,
    "socket.create_connection": 2,
    "urllib.request.urlopen": 3,
    "urlopen": 3,
    "HTTPConnection": 3,
    "http.client.HTTPConnection": 3,
    "as_completed": 2,
    "futures.wait": 2,
    "signal.pause": 99,
    "signal.sigwait": 99,
    "input": 99,
}
# Functions that wait unless a flag says otherwise.
FLAGGED = {"os.waitpid": "WNOHANG", "os.wait4": "WNOHANG", "fcntl.flock": "LOCK_NB", "fcntl.lockf": "LOCK_NB"}
# Methods of threads, processes, events, futures, locks that wait if they have no argument.
WITHOUT_ARGUMENT = {"join", "wait", "communicate", "result", "acquire", "wait_for"}
SOCKET = {"accept", "connect", "recv", "recvfrom", "recvmsg", "recv_into", "recvfrom_into", "recvmsg_into", "sendall"}
# In the same class or function: a socket has a limit or never blocks, or its limit is caught.
SOCKET_LIMITS = {"settimeout", "setblocking", "MSG_DONTWAIT", "SO_SNDTIMEO", "SO_RCVTIMEO", "create_connection"}
SOCKET_LIMITS |= {"BlockingIOError", "TimeoutError"}
READS = {"read", "read1", "readline", "readlines", "load"}
PIPES = {"stdin", "stdout", "stderr"}
# In the same class or function: a pipe is asked first, or its process is killed.
PIPE_LIMITS = {"select", "Timer"}
# What makes things whose methods wait, and those methods.
MADE_BY = {"poll": {"poll", "epoll"}, "get": {"Queue", "SimpleQueue", "LifoQueue", "PriorityQueue"}}


def written(node: ast.AST) -> str:
    """Name of what is called, as it is written."""
    if isinstance(node, ast.Attribute):
        return f"{written(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def names(tree: ast.AST) -> set[str]:
    """Names, and names of attributes."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def made_by(tree: ast.AST, makers: set[str]) -> set[str]:
    """Names that a file gives to what these functions make."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            is_made = written(node.value.func).rpartition(".")[2] in makers
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {written(one) for one in targets if is_made}
    return found


def is_pipe(node: ast.AST) -> bool:
    """Whether something is a standard stream of a process."""
    return isinstance(node, ast.Attribute) and bool(PIPES & set(written(node).split(".")[1:]))


def blocks(call: ast.Call, around: ast.AST, awaited: bool, made: dict[str, set[str]]) -> bool:
    """Whether a call may block for ever, in the class or function `around`."""
    name = written(call.func)
    has_limit = any(keyword.arg in ("timeout", "blocking") for keyword in call.keywords)
    if name in FUNCTIONS:
        return not has_limit and len(call.args) < FUNCTIONS[name]
    if name in FLAGGED:
        return FLAGGED[name] not in names(call)
    if name.endswith(".Thread") or name == "Thread":
        return not any(keyword.arg == "daemon" and ast.unparse(keyword.value) == "True" for keyword in call.keywords)
    if not isinstance(call.func, ast.Attribute):
        return False
    method, of = call.func.attr, call.func.value
    if method in WITHOUT_ARGUMENT or (method in MADE_BY and written(of) in made[method]):
        return not awaited and not call.args and not has_limit
    if (method in SOCKET and call.args) or method == "accept":
        return not awaited and not names(around) & SOCKET_LIMITS
    if method in READS:
        return any(map(is_pipe, (of, *call.args))) and not names(around) & PIPE_LIMITS
    return False


def offenders(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of calls that may block for ever."""
    tree = ast.parse(source)
    made = {method: made_by(tree, makers) for method, makers in MADE_BY.items()}

    def visit(node: ast.AST, around: ast.AST, awaited: bool) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            around = node if around is tree else around
            awaited = isinstance(node, ast.AsyncFunctionDef)
        if isinstance(node, ast.Call) and blocks(node, around, awaited, made):
            yield node.lineno, ast.unparse(node)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, around, awaited)

    yield from visit(tree, tree, False)


def files(*folders: str) -> Iterator[tuple[str, Path]]:
    """Python files of folders, with their names in the repository."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path


def test_no_call_blocks_for_ever() -> None:
    found = {(name, call): line for name, path in files(*FOLDERS) for line, call in offenders(path.read_text())}
    assert set(found) == set(EXCUSED), "\n".join(
        [f"{name}:{found[name, call]}: {call}: has no limit" for name, call in {*found} - {*EXCUSED}]
        + [f"{name}: {call}: is excused, and not there" for name, call in {*EXCUSED} - {*found}]
    )


def test_no_thread_of_a_test_keeps_its_process() -> None:
    found = [f"{name}:{line}: {call}" for name, path in files("tests") for line, call in offenders(path.read_text())]
    assert not [one for one in found if "Thread(" in one.partition(": ")[2].partition(")")[0]], "\n".join(found)


@pytest.mark.parametrize(
    ("call", "offends"),
    [
        ("subprocess.run(['ip'], check=True)", True),
        ("subprocess.run(['ip'], timeout=5)", False),
        ("subprocess.check_output(['ip'])", True),
        ("select.select([a], [], [])", True),
        ("select.select([a], [], [], 1)", False),
        ("process.wait()", True),
        ("process.wait(5)", False),
        ("process.communicate()", True),
        ("process.communicate(timeout=5)", False),
        ("thread.join()", True),
        ("thread.join(1)", False),
        ("', '.join(words)", False),
        ("future.result()", True),
        ("future.result(0)", False),
        ("lock.acquire()", True),
        ("lock.acquire(blocking=False)", False),
        ("async def work():\n    await event.wait()\n    task.result()", False),
        ("async def work():\n    subprocess.run(['ip'])", True),
        ("os.waitpid(1, 0)", True),
        ("os.waitpid(1, os.WNOHANG)", False),
        ("fcntl.flock(file, fcntl.LOCK_EX)", True),
        ("fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)", False),
        ("queue = SimpleQueue()\nqueue.get()", True),
        ("queue = SimpleQueue()\nqueue.get(timeout=1)", False),
        ("context.get()", False),
        ("self.ready = select.epoll()\nself.ready.poll(maxevents=9)", True),
        ("self.ready = select.epoll()\nself.ready.poll(1, 9)", False),
        ("process.poll()", False),
        ("def serve(s):\n    s.accept()", True),
        ("def serve(s):\n    s.settimeout(1)\n    s.accept()", False),
        ("def come(s):\n    s.settimeout(1)\ndef serve(s):\n    s.accept()", True),
        ("def hear(s):\n    s.recv(9)", True),
        ("def hear(s):\n    try:\n        s.recv(9)\n    except TimeoutError: pass", False),
        ("session.recv()", False),
        ("process.stdout.readline()", True),
        ("pickle.load(process.stdout)", True),
        ("def read(p):\n    select.select([p], [], [], 1)\n    p.stdout.read1(9)", False),
        ("file.read()", False),
        ("Thread(target=run)", True),
        ("threading.Thread(target=run, daemon=True)", False),
    ],
)
def test_the_rule_tells_calls_apart(call: str, offends: bool) -> None:
    assert bool(list(offenders(call))) == offends
