from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

VERSION: Final[str]
MODEL_VERSION: Final[int]
OPTIMISED: Final[bool]

class Splitter:
    def __init__(
        self,
        technique: str,
        weights: list[str],
        up: list[bool] | None = None,
        parameters: dict[str, str] | None = None,
    ) -> None: ...
    @property
    def technique(self) -> str: ...
    @property
    def granularity(self) -> str: ...
    @property
    def paths(self) -> int: ...
    @property
    def state_bytes(self) -> int: ...
    def copy(self) -> Splitter: ...
    def pick(
        self,
        keys: npt.NDArray[np.uint64],
        out: npt.NDArray[np.uint16] | None = None,
        bytes: npt.NDArray[np.uint32] | None = None,
        times_ns: npt.NDArray[np.uint64] | None = None,
    ) -> npt.NDArray[np.uint16]: ...
    def time_pick(
        self, keys: npt.NDArray[np.uint64], bytes: npt.NDArray[np.uint32] | None, repetitions: int
    ) -> list[float]: ...
    def time_chain(self, keys: npt.NDArray[np.uint64], repetitions: int) -> list[float]: ...
    def time_changes(self, keys: npt.NDArray[np.uint64], changes: list[list[str]]) -> tuple[float, float]: ...
    def update(self, weights: list[str] | None = None, up: list[bool] | None = None) -> None: ...
    def shares(self) -> list[float] | None: ...
    def asked(self) -> list[float]: ...
    def explain(self, key: int) -> list[tuple[str, str]]: ...

KernelRow: TypeAlias = tuple[list[str], str, bool, int | None, str]
RunsRow: TypeAlias = tuple[str | None, str | None, bool, KernelRow | None, tuple[str, str, KernelRow] | None]

def schemes() -> list[
    tuple[
        str,
        str,
        str,
        str,
        list[str],
        bool,
        str,
        list[tuple[str, str, str, str]],
        RunsRow,
        tuple[str, str] | None,
        list[tuple[str, str]],
    ]
]: ...
def techniques() -> list[tuple[str, str, str, str]]: ...
def hashes() -> list[tuple[str, int, int]]: ...
def flow_keys(tuples: npt.NDArray[np.uint8], hash_name: str, seed: int) -> npt.NDArray[np.uint64]: ...
def weight_integers(weights: list[str]) -> list[int]: ...
def gravity_weights(weights: list[str], most: int) -> list[int]: ...
def webster_slots(weights: list[str], up: list[bool], slots: int) -> list[int]: ...
def cumulative_slots(weights: list[str], up: list[bool], values: int) -> list[int]: ...
def dp_hash_slots(weights: list[int], max_slots: int, slots_per_bucket: int) -> list[int] | None: ...
def hash_input(tuples: npt.NDArray[np.uint8], hash_name: str) -> list[bytes | None]: ...
def ovs_select(
    tuples: npt.NDArray[np.uint8], later_fragments: list[bool], buckets: list[tuple[int, int]], parameter: int
) -> list[tuple[int, list[tuple[int, int]], int]]: ...

class Recording:
    tuples: npt.NDArray[np.uint8]
    headers: npt.NDArray[np.uint8]
    keys: npt.NDArray[np.uint64]
    packets: npt.NDArray[np.uint64]
    bytes: npt.NDArray[np.uint64]
    first_ns: npt.NDArray[np.uint64]
    five_tuples: int
    conversations: int
    counts: dict[str, int]
    table_bytes: int
    damage: str | None
    carried: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint64], int, int]]

def replay(
    trace: str | None,
    generate: tuple[str, int] | None,
    encapsulation: str,
    direction: str,
    hash: str,
    seed: int,
    online: list[Splitter],
    progress: Callable[[int, int, int | None], None] | None,
    partial: bool,
) -> Recording: ...
def generators() -> list[tuple[str, str]]: ...

class Progress:
    def __init__(self) -> None: ...
    @property
    def simulated_s(self) -> float: ...
    @property
    def end_s(self) -> float: ...
    @property
    def packet_hops(self) -> int: ...
    @property
    def flows_begun(self) -> int: ...
    @property
    def flows_finished(self) -> int: ...
    @property
    def flows_total(self) -> int: ...
    @property
    def cancelled(self) -> bool: ...
    def cancel(self) -> None: ...

Columns = dict[str, npt.NDArray[np.generic] | list[int | None]]

class Run:
    @property
    def flows(self) -> Columns: ...
    @property
    def flows_total(self) -> int: ...
    def flow_pieces(self, rows: int) -> Iterator[Columns]: ...
    @property
    def ports(self) -> Columns: ...
    @property
    def queues(self) -> Columns: ...
    @property
    def windows(self) -> Columns: ...
    @property
    def steps(self) -> Columns: ...
    @property
    def critical(self) -> Columns: ...
    @property
    def requests(self) -> Columns: ...
    @property
    def events(self) -> Columns: ...
    @property
    def totals(self) -> dict[str, int | float]: ...
    @property
    def counts(self) -> list[tuple[str, int]]: ...
    def write_captures(self, folder: str) -> list[str]: ...

def scenario_keys(text: str | None = None) -> list[tuple[str, str, str, str, str]]:
    """Path, sort (value, table or tables), description of the values, default and meaning of each key."""

class Fabric:
    def __init__(self, text: str, file: str) -> None: ...
    def topology(self) -> dict[str, Any]: ...
    def groups(
        self, up: list[bool], rate_bps: list[int], by_capacity: bool
    ) -> list[tuple[int, list[int], list[tuple[int, int]]]]: ...
    def paths(self, up: list[bool], from_leaf: int, to_leaf: int) -> list[list[int]]: ...
    def explicit_paths(self, content: bytes | None, file: str) -> list[tuple[int, int, list[int], int]]:
        """Explicit paths in a CSV file, or all shortest ones: the two nodes, ports between switches, weight of each."""
    def path_table(self, most: int | None) -> tuple[str, int, int]:
        """Shortest paths between every two leaves, `most` of each pair or all, as CSV; numbers of paths and pairs."""

PlanFactRow: TypeAlias = tuple[str, str, Any, str]
PlanColumnRow: TypeAlias = tuple[str, str, list[tuple[str, str]]]
PlanTableRow: TypeAlias = tuple[str, str, list[PlanColumnRow], list[list[Any]]]

def pair_planners() -> list[str]: ...
def plan_pair(
    text: str, file: str, balance: str, overrides: list[tuple[str, str]], pair: tuple[str, str]
) -> tuple[list[PlanFactRow], list[PlanTableRow], list[str]]: ...
def cut_slices(
    residual: list[tuple[int, bool]],
    *,
    pick: str,
    slice_min_bps: int,
    slice_max_bps: int | None,
    quantum_bps: int | None,
    label_bits: int,
    burst_ns: int,
    frame_bytes: int,
) -> tuple[int, list[int], int, bool] | None: ...
def metered_frames(
    rate_bps: int, *, burst_bytes: int, frame_bytes: int, offered_bps: int, window_ns: int, windows: int
) -> list[int]: ...
def meter_error_percent(throughput_bps: float, target_bps: float) -> float: ...
def slice_picks() -> list[str]: ...
def virtual_topologies(
    residual_bps: list[int], quantum_bps: int, threshold_bytes: int, flows: list[tuple[int, int]]
) -> tuple[list[list[int]], list[int | None]]: ...
def outside_bps(before_bps: int, measured_bps: int, rate_bps: int, hysteresis: float) -> int: ...

class KernelGroup:
    """A weighted group of a datapath in the kernel."""

    def __init__(
        self,
        name: str,
        prefixes: list[str],
        targets: list[int],
        weights: list[int],
        up: list[bool],
        output: str,
        seed: int = 0,
        pause_ns: int = 0,
        turns: list[int] = ...,
        plain: bool = False,
    ) -> None:
        """A value.

        Args:
            name: by which it is known again when a plan is replaced, and keeps its counters.
            prefixes: destinations, as `10.0.2.0/24` or `fd00:2::/64`; none in a datapath without routes.
            targets: by member, the number of an interface, or the value of the field.
            weights: by member, 0 for one that carries nothing.
            up: by member, whether it can carry traffic.
            output: `redirect`, `dscp`, `flow-label` or `tunnel-port`.
            seed: of the hash; another one on each switch.
            pause_ns: the flowlet gap, or the silence after which a flow's counter is forgotten.
            turns: members in turn, for `cycle`, `flow_cycle` and `presto`; by the weights if there are none.
            plain: weights are factors of scores as they are, as Open vSwitch takes them; of `score` only.

        Raises:
            AnabranchError: what no program carries.

        """

    @property
    def name(self) -> str: ...
    @property
    def prefixes(self) -> list[str]: ...
    @property
    def targets(self) -> list[int]: ...
    @property
    def weights(self) -> list[int]: ...
    @property
    def up(self) -> list[bool]: ...
    @property
    def output(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def pause_ns(self) -> int: ...
    @property
    def turns(self) -> list[int]: ...
    @property
    def plain(self) -> bool: ...

class KernelDatapath:
    """A scheme's program and its maps in the kernel, pinned in a folder.

    All raise AnabranchError where the kernel refuses.
    """

    @staticmethod
    def create(folder: str | Path, scheme: str, groups: int, routes: int) -> KernelDatapath:
        """Loads and pins one that is attached to nothing; with no routes, its one group takes all IP packets."""

    @staticmethod
    def open(folder: str | Path) -> KernelDatapath | None:
        """The one of a folder, if there is one."""

    @property
    def scheme(self) -> str: ...
    @property
    def group_capacity(self) -> int: ...
    @property
    def route_capacity(self) -> int: ...
    @property
    def routed(self) -> bool: ...
    def attach(self, ifindex: int, hook: str) -> None:
        """At `ingress`, `egress` or `xdp` of a device of this thread's network namespace, behind others' programs."""

    def replace(self, other: KernelDatapath, ifindex: int, hook: str) -> None:
        """Attach this datapath in the place of another in one step: every packet meets one of the two."""

    def detach(self, ifindex: int, hook: str) -> None: ...
    def attachments(self) -> list[tuple[int, str, bool]]:
        """(ifindex, hook, whether the device is still there)."""

    def observed(self) -> list[KernelGroup]:
        """Groups in force, in the order of their numbers."""

    def put(self, groups: list[KernelGroup], dry_run: bool = False) -> bool:
        """Puts all groups in force at once; answers whether anything had to change."""

    def shares(self) -> list[list[float]]:
        """By group and member, what the plans in force really give; each group's sum to 1."""

    def slots(self, groups: list[KernelGroup]) -> list[list[int]]:
        """By group, the member of each slot once these groups are in force; none where the program has no table."""

    def counters(self) -> list[list[tuple[int, int]]]:
        """By group and member, (packets, bytes) since the group came."""

    def remove(self) -> None:
        """Takes it off its devices and out of the kernel."""

KERNEL_SCHEMES: list[str]
KERNEL_GIVES: list[str]
"""The schemes that the kernel has programs for."""

def kernel_shares(scheme: str, group: KernelGroup) -> list[float]: ...
def kernel_turns(group: KernelGroup) -> list[int]: ...
def probe_kernel() -> list[tuple[str, bool, str]]: ...
def require_bpf_file_system() -> None: ...

class Scenario:
    def __init__(
        self,
        text: str,
        file: str,
        overrides: list[tuple[str, str]] = ...,
        copies: Mapping[str, str | Path] = ...,
        lines: bool = True,
    ) -> None:
        """Raises AnabranchError without the line if `lines` is false: nobody has seen the text."""

    @property
    def name(self) -> str: ...
    @property
    def identity(self) -> str: ...
    @property
    def model_version(self) -> int: ...
    @property
    def mutations(self) -> list[str]:
        """Names of the mutations of the load balancer that runs; none where it is broken already."""
    @property
    def measure_ns(self) -> tuple[float, float | None]: ...
    def resolved_toml(self) -> str: ...
    def topology(self) -> dict[str, Any]: ...
    def flows(self) -> Columns: ...
    def offered_load(self) -> list[dict[str, Any]]: ...
    def expected_packet_hops(self) -> int: ...
    def warnings(self) -> list[str]: ...
    def severed_flows(self) -> int: ...
    def named_files(self) -> list[tuple[str, str]]: ...
    def check(self) -> None: ...
    def port_paths(self, src: int, dst: int, queue_pairs: int) -> tuple[int, list[list[tuple[list[int], int]]]]: ...
    def run(
        self,
        progress: Progress | None = None,
        *,
        weights: Callable[[Group, list[Member]], list[int] | None] | None = None,
        epoch: str = "",
        pick: Callable[[Packet, View], int] | None = None,
        hosts: Mapping[str, Callable[..., object] | None] | None = None,
        flows_held_max: int = ...,
    ) -> Run:
        """Simulates. Records of more than `flows_held_max` flows (2^20) wait in a file in the folder TMPDIR."""

    def take_ports(self, progress: Progress) -> Columns:
        """Rows of `Run.ports` for intervals that have ended since the last call; the first call yields none yet.

        Intervals without a packet come late, as one; the last interval may lack what happened in its last picosecond.
        """

    def time_ecmp(self, progress: Progress) -> tuple[int, float]: ...

class Group:
    @property
    def number(self) -> int: ...
    @property
    def switch(self) -> str: ...
    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def weights(self) -> tuple[int, ...]: ...
    @property
    def now_ns(self) -> int: ...

class Member:
    @property
    def name(self) -> str: ...
    @property
    def sent_bytes(self) -> int: ...
    @property
    def backlog_bytes(self) -> int: ...
    @property
    def rate_bps(self) -> int: ...
    @property
    def up(self) -> bool: ...

class Packet:
    @property
    def flow(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def destination_leaf(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def seq(self) -> int: ...
    @property
    def payload_bytes(self) -> int: ...
    @property
    def frame_bytes(self) -> int: ...
    @property
    def entropy(self) -> int: ...

class View:
    @property
    def now_ns(self) -> int: ...
    @property
    def switch(self) -> str: ...
    @property
    def group(self) -> int: ...
    @property
    def members(self) -> tuple[str, ...]: ...
    def backlog(self, member: int) -> int: ...
    def up(self, member: int) -> bool: ...
    def random(self) -> float: ...

class Connection:
    state: Any
    @property
    def flow(self) -> int: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def src(self) -> int: ...
    @property
    def dst(self) -> int: ...
    @property
    def entropy(self) -> int: ...
    @property
    def now_ns(self) -> int: ...
    def random(self) -> float: ...
    def draw_entropy(self) -> int: ...

class Ack:
    @property
    def entropy(self) -> int | None: ...
    @property
    def marked(self) -> bool: ...
    @property
    def bytes(self) -> int: ...
    @property
    def marked_bytes(self) -> int: ...
    @property
    def round_ended(self) -> bool: ...
    @property
    def idle(self) -> bool: ...
    @property
    def rtt_ns(self) -> int: ...

def columns() -> dict[str, list[tuple[str, str, str]]]: ...

Attributes = list[tuple[str, str, int]]
"""Name, value and line of each attribute; line 0 where there is none."""

def check_graph(
    file: str,
    attributes: Attributes,
    nodes: list[tuple[str, int, Attributes]],
    edges: list[tuple[str, str, bool, int, Attributes]],
) -> None: ...
def describe_work(
    file: str,
    size_bytes: int,
    loggops: list[int] | None = None,
    groups: str | None = None,
    dimensions: list[int] = ...,
    accelerator: tuple[int, int] | None = None,
) -> tuple[tuple[int, int, int, int, list[str]], list[int] | None]: ...
