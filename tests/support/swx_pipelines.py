"""DPDK's SWX pipelines as switches of a fabric: packets go in and come out one at a time.

Run as a program, `python swx_pipelines.py FOLDER` builds a pipeline for each switch of a folder that `plan --target p4`
has written, by DPDK's public functions alone, and answers each line of stdin (switch, port, frame in hexadecimal) with
one of stdout (port and frame; empty if the packet was dropped). `SWITCH counter LIST VALUE` writes a counter. It is a
process of its own because DPDK takes signals, memory and processors of the one that it is in. Without a folder it
prints the libraries that are missing.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_uint32, c_uint64, c_void_p
from ctypes.util import find_library
from pathlib import Path

LIBRARIES = ("rte_eal", "rte_mempool", "rte_mempool_ring", "rte_mbuf", "rte_port", "rte_pipeline")
ABI = range(20, 40)
"""Numbers of DPDK's ABI that are looked for: a library without headers has only its file's name."""
MTU = 2048
BUFFERS = 1023
INSTRUCTIONS = 256
ROUNDS = 64
"""Rounds of so many instructions in which a packet comes through: it takes some thirty, and each empty port one."""
EXACT, WILDCARD = 2, 0
"""`enum rte_swx_table_match_type`."""


class Field(Structure):
    """`struct rte_swx_field_params`."""

    _fields_ = [("name", c_char_p), ("n_bits", c_uint32)]


class Match(Structure):
    """`struct rte_swx_match_field_params`."""

    _fields_ = [("name", c_char_p), ("match_type", c_int)]


class Table(Structure):
    """`struct rte_swx_pipeline_table_params`."""

    _fields_ = [
        ("fields", POINTER(Match)),
        ("n_fields", c_uint32),
        ("action_names", POINTER(c_char_p)),
        ("action_is_for_table_entries", c_void_p),
        ("action_is_for_default_entry", c_void_p),
        ("n_actions", c_uint32),
        ("default_action_name", c_char_p),
        ("default_action_args", c_char_p),
        ("default_action_is_const", c_int),
        ("hash_func_name", c_char_p),
    ]


class Reader(Structure):
    """`struct rte_swx_port_fd_reader_params`."""

    _fields_ = [("fd", c_int), ("mtu", c_uint32), ("mempool", c_void_p), ("burst_size", c_uint32)]


class Writer(Structure):
    """`struct rte_swx_port_fd_writer_params`."""

    _fields_ = [("fd", c_int), ("burst_size", c_uint32)]


def library(name: str) -> str | None:
    """File of one of DPDK's libraries, if it is installed."""
    for abi in reversed(ABI):
        try:
            ctypes.CDLL(f"lib{name}.so.{abi}", ctypes.RTLD_GLOBAL)
        except OSError:
            continue
        return f"lib{name}.so.{abi}"
    return find_library(name)


def missing() -> list[str]:
    """Libraries that are not installed; found in another process, because a loaded library stays."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=True)
    return done.stdout.split()


class Dpdk:
    """DPDK without devices, huge pages or files."""

    def __init__(self) -> None:
        files = {name: library(name) for name in LIBRARIES}
        self._of = {name: ctypes.CDLL(file) for name, file in files.items()}
        processor = min(os.sched_getaffinity(0))
        arguments = f"swx --no-huge --no-shconf --no-pci --no-telemetry --log-level=3 -m 128 -l {processor}"
        words = [*arguments.split(), "-d", str(files["rte_mempool_ring"])]
        argv = (c_char_p * len(words))(*(word.encode() for word in words))
        if self._of["rte_eal"].rte_eal_init(len(words), argv) < 0:
            raise OSError("rte_eal_init")
        create = self._of["rte_mbuf"].rte_pktmbuf_pool_create
        create.restype = c_void_p
        self.pool = create(b"buffers", c_uint32(BUFFERS), 0, 0, 128 + MTU, -1)
        if not self.pool:
            raise OSError("rte_pktmbuf_pool_create")
        self._ctl = self._of["rte_pipeline"].rte_swx_ctl_pipeline_create
        self._ctl.restype = c_void_p

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function of the pipelines' library that returns 0."""
        status = getattr(self._of["rte_pipeline"], name)(*arguments)
        if status:
            shown = [one for one in arguments if isinstance(one, bytes)]
            raise OSError(status, f"{name}{shown}: {os.strerror(abs(status))}")

    def control(self, pipeline: c_void_p) -> c_void_p:
        """The tables of a pipeline that is built."""
        return c_void_p(self._ctl(pipeline))

    def parse(self, spec: Path, code: Path) -> None:
        """Has DPDK's own reader look at a specification."""
        libc = ctypes.CDLL(None)
        libc.fopen.restype = c_void_p
        files = [c_void_p(libc.fopen(str(path).encode(), mode)) for path, mode in ((spec, b"r"), (code, b"w"))]
        line, said = c_uint32(), c_char_p()
        try:
            self.call("rte_swx_pipeline_codegen", *files, byref(line), byref(said))
        except OSError as error:
            problem = (said.value or b"").decode()
            raise OSError(f"{spec.name}:{line.value}: {problem} ({error})") from None
        finally:
            for file in files:
                libc.fclose(file)


class Pipeline:
    """A switch: its ports are pairs of sockets."""

    def __init__(self, dpdk: Dpdk, spec: Path, entries: Path, last_port: int) -> None:
        self._dpdk, self._pipeline = dpdk, c_void_p()
        self._call("config", byref(self._pipeline), entries.name.encode(), 0, on_it=False)
        # As many as the pipeline asks for: a power of two, without gaps.
        self._sockets = []
        count = 1 << last_port.bit_length()
        for port in range(count):
            ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for one in (ours, its):
                one.setblocking(False)
            self._sockets.append((ours, its))
            reader = Reader(its.fileno(), MTU, dpdk.pool, 1)
            self._call("port_in_config", port, b"fd", byref(reader))
            self._call("port_out_config", port, b"fd", byref(Writer(its.fileno(), 1)))
        tables = list(Spec(self._call).read(spec.read_text()))
        self._call("build")
        control = dpdk.control(self._pipeline)
        add, blank = "rte_swx_ctl_pipeline_table_entry_read", c_int()
        read = getattr(ctypes.CDLL(library("rte_pipeline")), add)
        read.restype = c_void_p
        for table in tables:
            for line in (entries / f"{table}.swx").read_text().splitlines():
                entry = read(control, table.encode(), line.encode(), byref(blank))
                if not entry:
                    raise OSError(f"{entries}/{table}.swx: {line}")
                dpdk.call("rte_swx_ctl_pipeline_table_entry_add", control, table.encode(), c_void_p(entry))
        dpdk.call("rte_swx_ctl_pipeline_commit", control, 1)

    def _call(self, what: str, *arguments: object, on_it: bool = True) -> None:
        self._dpdk.call(f"rte_swx_pipeline_{what}", *((self._pipeline, *arguments) if on_it else arguments))

    def forward(self, port: int, frame: bytes) -> tuple[int, bytes] | None:
        """Where a frame leaves, and how it looks then; `None` if it was dropped."""
        run = ctypes.CDLL(library("rte_pipeline")).rte_swx_pipeline_run
        run.restype = None
        self._sockets[port][0].send(frame)
        ours = {one: number for number, (one, _) in enumerate(self._sockets)}
        for _ in range(ROUNDS):
            run(self._pipeline, INSTRUCTIONS)
            for one in select.select(list(ours), [], [], 0)[0]:
                return ours[one], one.recv(MTU)
        return None

    def count(self, list_id: int, value: int) -> None:
        """Writes the counter of a list."""
        name = "rte_swx_ctl_pipeline_regarray_write"
        self._dpdk.call(name, self._pipeline, b"counters", c_uint32(list_id), c_uint64(value))


class Spec:
    """Reads what the program's specification uses of the language, and configures a pipeline by it."""

    def __init__(self, call) -> None:  # type: ignore[no-untyped-def]
        self._call = call

    def read(self, text: str) -> Iterator[str]:
        """Configures; yields the names of tables."""
        lines = [line.partition(";")[0].split() for line in text.splitlines()]
        at = iter([words for words in lines if words])
        for words in at:
            kind, name = words[0], words[1].encode()
            body = self._body(at) if words[-1] == "{" else []
            if kind == "struct":
                fields = [Field(field.encode(), int(bits[4:-1])) for bits, field in body]
                self._call("struct_type_register", name, (Field * len(fields))(*fields), len(fields), 0)
            elif kind == "header":
                self._call("packet_header_register", name, words[3].encode())
            elif kind == "metadata":
                self._call("packet_metadata_register", words[2].encode())
            elif kind == "regarray":
                self._call("regarray_config", name, c_uint32(int(words[3])), c_uint64(int(words[5])))
            elif kind == "action":
                arguments = words[4].encode() if words[3] == "instanceof" else None
                self._call("action_config", name, arguments, *self._instructions(body))
            elif kind == "table":
                yield self._table(words[1], body)
            elif kind == "apply":
                self._call("instructions_config", *self._instructions(body))
            else:
                raise ValueError(f"{' '.join(words)}: not read here")

    @staticmethod
    def _body(at: Iterator[list[str]]) -> list[list[str]]:
        depth = 1
        found: list[list[str]] = []
        for words in at:
            depth += words.count("{") - words.count("}")
            if not depth:
                return found
            found.append(words)
        raise ValueError("a body without an end")

    @staticmethod
    def _instructions(body: Sequence[Sequence[str]]) -> tuple[object, int]:
        return (c_char_p * len(body))(*(" ".join(words).encode() for words in body)), len(body)

    def _table(self, name: str, body: list[list[str]]) -> str:
        at = iter(body)
        parts: dict[str, list[list[str]]] = {}
        lines: dict[str, list[str]] = {}
        for words in at:
            if words[-1] == "{":
                parts[words[0]] = self._body(at)
            else:
                lines[words[0]] = words
        kinds = {"exact": EXACT, "wildcard": WILDCARD}
        fields = [Match(field.encode(), kinds[kind]) for field, kind in parts["key"]]
        actions = [words[0].encode() for words in parts["actions"]]
        default = lines["default_action"]
        table = Table(
            fields=(Match * len(fields))(*fields),
            n_fields=len(fields),
            action_names=(c_char_p * len(actions))(*actions),
            n_actions=len(actions),
            default_action_name=default[1].encode(),
            default_action_is_const=int(default[-1] == "const"),
        )
        self._call("table_config", name.encode(), byref(table), None, None, c_uint32(int(lines["size"][1])))
        return name


def main(folder: Path) -> None:
    """Answers stdin."""
    dpdk = Dpdk()
    dpdk.parse(folder / "turns.spec", Path(os.devnull))
    record = json.loads((folder / "switches.json").read_text())
    built = {
        one["name"]: Pipeline(dpdk, folder / "turns.spec", folder / one["name"], max(one["ports"].values()))
        for one in record["switches"]
    }
    print("ready", flush=True)
    for line in sys.stdin:
        switch, *words = line.split()
        if words[0] == "counter":
            built[switch].count(int(words[1]), int(words[2]))
            continue
        left = built[switch].forward(int(words[0]), bytes.fromhex(words[1]))
        print("" if left is None else f"{left[0]} {left[1].hex()}", flush=True)


@contextmanager
def pipelines(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """The program, ready to be asked."""
    command = [sys.executable, __file__, str(folder)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as ran:
        assert ran.stdin is not None
        assert ran.stdout is not None
        assert ran.stderr is not None
        try:
            if ran.stdout.readline() != "ready\n":
                raise AssertionError(ran.stderr.read())
            yield ran
        finally:
            ran.stdin.close()
            ran.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        print(*(name for name in LIBRARIES if library(name) is None))
