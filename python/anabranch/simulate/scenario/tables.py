"""Tables of a scenario by name, with their keys. Written by `make reference`; a test compares."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from anabranch.simulate.scenario.table import Table, Tables


class ScenarioKeys(Table):
    """Tables and keys of a scenario."""

    PATH: ClassVar[str] = ""
    name: Any
    seed: int
    fabric: Fabric
    change: Tables[Change]
    routing: Routing
    transport: Transport
    host: Host
    traffic: Tables[Traffic]
    framing: Framing
    stop: Stop
    replay: Replay
    record: Record
    measure: Measure


class Fabric(Table):
    """The fabric as built."""

    PATH: ClassVar[str] = "fabric"
    kind: Literal[
        "leaf-spine",
        "fat-tree",
        "clos",
        "vl2",
        "dumbbell",
        "rail-optimised",
        "multi-plane",
        "dragonfly",
        "slim-fly",
        "graph",
        "graphml",
        "ns3",
        "htsim",
    ]
    preset: Literal["lossy", "lossless-roce", "uec-trimming"]
    leaves: int
    spines: int
    hosts_per_leaf: int
    links_per_host: int
    parallel_links: int
    link: FabricLink
    host_link: FabricHostLink
    uplink: FabricUplink
    k: int
    pods: int
    leaves_per_pod: int
    aggregations_per_pod: int
    cores_per_aggregation: int
    core_link: FabricCoreLink
    aggregations: int
    intermediates: int
    hosts_per_side: int
    bottleneck: FabricBottleneck
    segments: int
    servers_per_segment: int
    accelerators_per_server: int
    scale_up: FabricScaleUp
    planes: int
    routers_per_group: int
    hosts_per_router: int
    global_links_per_router: int
    groups: int
    local_link: FabricLocalLink
    global_link: FabricGlobalLink
    q: int
    router_link: FabricRouterLink
    node: Tables[FabricNode]
    edge: Tables[FabricEdge]
    file: str
    digest: Any
    switch: FabricSwitch


class FabricLink(Table):
    """Links of every tier, where the tier's own table says nothing else."""

    PATH: ClassVar[str] = "fabric.link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricHostLink(Table):
    """Links between hosts and leaves; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.host_link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricUplink(Table):
    """Links between switches; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.uplink"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricCoreLink(Table):
    """Links between aggregations and cores; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.core_link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricBottleneck(Table):
    """The link in the middle; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.bottleneck"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricScaleUp(Table):
    """Links between accelerators and their server's scale-up switch; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.scale_up"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricLocalLink(Table):
    """Links between the routers of a group; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.local_link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricGlobalLink(Table):
    """Links between groups; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.global_link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricRouterLink(Table):
    """Links between routers; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.router_link"
    rate: str
    delay: str
    buffer: Any
    ecn: Any


class FabricNode(Table):
    """Nodes about which there is something to say."""

    PATH: ClassVar[str] = "fabric.node"
    name: Any
    tier: Literal["host", "scale-up", "leaf", "aggregation", "spine"]
    pod: int


class FabricEdge(Table):
    """Links. Two entries of the same ends are parallel links."""

    PATH: ClassVar[str] = "fabric.edge"
    from_: Any
    to: Any
    rate: str
    delay: str
    buffer: Any
    ecn: Any
    back: FabricEdgeBack


class FabricEdgeBack(Table):
    """The way from `to` to `from`, where it differs; keys as below `link`."""

    PATH: ClassVar[str] = "fabric.edge.back"


class FabricSwitch(Table):
    """Ports with classes of traffic, at switches and hosts."""

    PATH: ClassVar[str] = "fabric.switch"
    ecn_at: Literal["enqueue", "dequeue"]
    trim_size: str
    probes_apart: bool
    control: FabricSwitchControl
    second_control: FabricSwitchSecondControl
    data: FabricSwitchData
    second_data: FabricSwitchSecondData
    shared: FabricSwitchShared


class FabricSwitchControl(Table):
    """Control: packets without payload, and trimmed ones. Its room is twice that of data."""

    PATH: ClassVar[str] = "fabric.switch.control"
    service: Literal["strict", "weighted"]


class FabricSwitchSecondControl(Table):
    """Control that asks for a class of its own."""

    PATH: ClassVar[str] = "fabric.switch.second_control"
    service: Literal["strict", "weighted"]


class FabricSwitchData(Table):
    """Data."""

    PATH: ClassVar[str] = "fabric.switch.data"
    service: Literal["strict", "weighted"]
    weight: float
    lossless: bool
    trim: bool


class FabricSwitchSecondData(Table):
    """Data that ask for a class of their own."""

    PATH: ClassVar[str] = "fabric.switch.second_data"
    service: Literal["strict", "weighted"]
    weight: float
    lossless: bool
    trim: bool


class FabricSwitchShared(Table):
    """Buffer that ports of a switch share for data. Without it a class of data has the link's `buffer` at a port."""

    PATH: ClassVar[str] = "fabric.switch.shared"
    size: str
    alpha: float
    lossless_alpha: float
    pause_alpha: float
    guarantee: str
    headroom: str
    resume_offset: str
    pause: str
    refresh: Literal["timer", "arrival"]


class Change(Table):
    """What happens to the fabric: failures, repairs, slow and lossy links, from the start or later."""

    PATH: ClassVar[str] = "change"
    at: str
    link: Any | list[Any]
    switch: Any | list[Any]
    set: Literal["down", "up"]
    rate: str
    loss: float
    blackhole: float


class Routing(Table):
    """How switches spread what they forward, and how fast they learn of changes."""

    PATH: ClassVar[str] = "routing"
    balance: Literal[
        "ecmp",
        "random",
        "weighted",
        "weighted-random",
        "wrr",
        "wcmp",
        "scoring",
        "valo",
        "deficit",
        "letflow",
        "flowcell",
        "local-sampling",
        "spray",
        "weighted-spray",
        "drill",
        "weighted-drill",
        "ideal",
        "conga",
        "dbb",
        "saps",
        "wino",
        "luopan",
        "omniscient",
        "random-path",
        "valiant",
        "ugal-l",
        "ugal-g",
        "tdlb",
        "hula",
        "conweave",
        "flowcut",
        "ars",
        "glb",
        "flowbender",
        "plb",
        "presto",
        "weighted-presto",
        "clove-ecn",
        "clove-int",
        "clove+valo",
        "vms",
        "vms-window",
        "vms+valo",
        "hermes",
        "uec-oblivious",
        "uec-bitmap",
        "uec-mixed",
        "reps",
        "reps-legacy",
        "mp-rdma",
        "mrc",
        "explicit",
        "spritz-scout",
        "spritz-spray",
    ]
    granularity: Literal["flow", "flowlet", "flowcell", "packet"]
    weights: Any
    table: Literal[
        "uniform",
        "min-move",
        "wcmp",
        "wcmp-scoring",
        "intervals",
        "valo",
        "scoring",
        "turns",
        "deficit",
        "shortest-queue",
    ]
    scheme: RoutingScheme
    paths: RoutingPaths
    delay: str
    mutation: Any
    hash: Tables[RoutingHash]
    gap: str
    cell: str
    entries: int
    order: Literal["smooth", "block"]
    samples: int
    memory: int


class RoutingScheme(Table):
    """Parameters of the scheme that `balance` names."""

    PATH: ClassVar[str] = "routing.scheme"
    period: str
    alpha: float
    level_bits: int
    own_rates: bool
    gap: str
    age: str
    candidates: int
    wrap: bool
    data_only: bool
    counter: Literal["shared", "independent"]
    offset: Literal["first", "random"]
    idle: str
    rule: Literal["quota", "literal"]
    flow: Literal["balanced", "any"]
    multi: Literal["full", "share"]
    max_n: int
    quantum: int
    threshold: str
    scope: Literal["pair", "network"]
    pick: Literal["least-loss", "literal", "min-waste"]
    slice_min: Any
    slice_max: Any
    label_bits: int
    order: Literal["interleave", "block", "lex", "random"]
    share: Literal["none", "active"]
    burst: str
    meter: Literal["police", "shape", "off"]
    queue: str
    round_robin: Literal["flow", "host"]
    poll: str
    hysteresis: float
    install_delay: str
    samples: int
    expiry: str
    patience: str
    stale: Literal["keep", "random"]
    resample: Literal["independent", "keep-best"]
    metric: Literal["bytes", "7bit", "utilisation"]
    probing: Literal["packets", "express", "instant", "pairs-in-use", "all-pairs"]
    probe: str
    cell: str
    flow_idle: str
    detours: int
    detect: Literal["uplink", "lasthop", "both", "nowhere"]
    phi: str
    delay_factor: float
    record: Literal["queue", "window"]
    clear: Literal["relief", "never"]
    hold: str
    array: int
    feedback: Literal["echo", "symmetric"]
    skew: str
    alg2: Literal["table", "literal"]
    timeout_min: str
    timeout_max: str
    tie: str
    initial: Literal["ecmp", "fastest"]
    tau: str
    keep: str
    extra_reply: str
    pause: str
    extra_hold: str
    default_hold: str
    control: str
    drain: bool
    ratio: float
    least: str
    timeout: str
    mode: Literal["flowlet-quality", "flowlet-random", "packet-quality", "packet-random", "fixed"]
    flows: int
    sampling: str
    past_weight: int
    future_weight: int
    current: bool
    past_min: float
    past_max: float
    future_min: str
    future_max: str
    past_share: float
    rounds: int
    idle_rounds: int
    suspend: str
    selection: Literal["turns", "random", "blocks"]
    half_rtt: str
    cut: float
    congested: str
    ageing: str
    round: str
    lost_after: str
    gain: float
    weight_min: float
    window: int
    window_min: int
    window_max: int
    key: Literal["unit", "flow"]
    rtt_base: str
    rtt_low: str
    rtt_high: str
    better_rtt: str
    rtt_step: str
    sample_weight: float
    marked_high: float
    better_marked: float
    by_marks: bool
    any_good: bool
    sent_min: str
    rate_max: float
    by_flows: bool
    move_probability: float
    guard: str
    timeouts: int
    loss_high: float
    loss_interval: str
    loss_packets: int
    forgive: str
    probe_interval: str
    entropies: int
    freeze: str
    explored: int
    reordering: int
    spread: Literal["flows", "packets"]
    cached: int
    weight_scaling: int
    explore_threshold: int
    ecn_threshold: int
    small_flow: str
    small_flow_weight: int
    block: str
    memory: str


class RoutingPaths(Table):
    """Explicit paths, for a load balancer that follows them. Default: all shortest ones, or a table that it makes."""

    PATH: ClassVar[str] = "routing.paths"
    file: str
    digest: Any


class RoutingHash(Table):
    """Hashes of header fields that switches choose by. Without an entry each has an ideal one of its own."""

    PATH: ClassVar[str] = "routing.hash"
    at: str | list[str]
    algorithm: Literal[
        "xxh3",
        "crc8",
        "crc16",
        "crc32",
        "crc32c",
        "xor8",
        "xor16",
        "xor32",
        "pearson8",
        "pearson32",
        "one-at-a-time",
        "lookup3",
        "murmur3",
        "wyhash32",
        "toeplitz",
    ]
    fields: Any
    seed: int
    offset: int


class Transport(Table):
    """What end hosts do."""

    PATH: ClassVar[str] = "transport"
    kind: Literal["dctcp", "newreno", "cubic", "mptcp", "udp", "roce", "uec"]
    gain: float
    initial_window: int
    window_max: str
    sack: bool
    dup_ack_threshold: int
    rack: bool
    dsack: bool
    ack_every: int
    min_rto: str
    initial_rto: str
    max_rto: str
    ack_delay: str
    ecn: bool
    handshake: bool
    persistent: bool
    reorder: Any
    hystart: bool
    subflows: int
    coupling: Literal["lia", "uncoupled"]
    rate: str
    control: Literal["dcqcn", "timely", "swift", "hpcc", "none", "nscc", "rccc", "nscc+rccc"]
    alpha_interval: str
    decrease_interval: str
    increase_interval: str
    fast_recovery: int
    additive: str
    hyper: str
    rate_min: str
    clamp_target: bool
    recovery: Literal["go-back-n", "selective"]
    rto: str
    nack_interval: str
    window: str
    cnp_interval: str
    cnp_in_answer: bool
    cnp_out_of_order: bool
    queue_pairs: int
    queue_pair_mode: Literal["split", "round-robin"]
    source_ports: int | list[int]
    semantics: Literal["write", "send"]
    completion: Literal["delivered", "acknowledged"]
    answer: str
    target: str
    first_window: str
    quick_gate: int
    ack_bytes: str
    beta: float
    rtt_low: str
    rtt_high: str
    rtt_least: str
    queueing: str
    scaling: str
    decrease_most: float
    growth: float
    utilization: float
    stages: int
    step: str
    rto_low: str
    rnr_timer: str
    credit_share: float
    grant: str
    credit_window: str


class Host(Table):
    """The network card of every host."""

    PATH: ClassVar[str] = "host"
    nic: Literal["fair", "fifo", "rdma"]
    limit: Any
    jitter: bool


class Traffic(Table):
    """Which flows there are. At least one entry; several run side by side."""

    PATH: ClassVar[str] = "traffic"
    kind: Literal["poisson", "once", "incast", "ring-all-reduce", "parameter-server", "graph", "flow-list", "capture"]
    pattern: Any
    sizes: Any
    convention: Literal["linear", "step"]
    load: Any
    flows_per_s: float
    reference: Literal["uplink", "host", "bisection"]
    capacity: Any
    duration: str
    flows: int
    start: str
    rate: str
    burst: str
    mss: str
    transport: TrafficTransport
    servers: int
    response: str
    jobs_per_s: float
    clients: int | list[int]
    jobs: int
    workers: int | list[int]
    size: str
    iterations: int
    compute: str
    file: str
    digest: Any
    training: TrafficTraining
    inference: TrafficInference
    groups: str
    dimensions: int | list[int]
    accelerator: TrafficAccelerator
    start_unit: Literal["us", "ps"]
    collective: Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "moe"]
    algorithm: Literal["ring", "halving-doubling", "double-tree", "hierarchical", "tree", "direct", "pairwise"]
    channels: int
    segments: int
    group: int
    reduce: str
    skew: float
    ranks: int
    hosts: Any
    placement: Literal["packed", "spread", "random"]
    rendezvous: Literal["none", "clear-to-send", "request-to-send"]
    ordered: bool
    idle: bool
    eager: str


class TrafficTransport(Table):
    """What carries it, instead of `[transport]`: the same keys, with defaults of their own."""

    PATH: ClassVar[str] = "traffic.transport"


class TrafficTraining(Table):
    """A step of training a transformer, by the shape of model and parallelism; it needs `accelerator`."""

    PATH: ClassVar[str] = "traffic.training"
    layers: int
    hidden: int
    feed_forward: int
    sequence: int
    micro_batch: int
    micro_batches: int
    experts: int
    experts_per_token: int
    value: str
    tensor: int
    data: int
    pipeline: int
    expert: int
    gradient: str
    bucket: str
    overlap: bool


class TrafficInference(Table):
    """Requests to a language model, by the shape of the model and of the groups that fill caches and decode."""

    PATH: ClassVar[str] = "traffic.inference"
    requests: int
    requests_per_s: float
    arrivals: str | list[str]
    prompt: int | list[int]
    output: int | list[int]
    layers: int
    hidden: int
    kv_heads: int
    head: int
    value: str
    experts_per_token: int
    cache: Literal["layer", "end"]
    prefill: TrafficInferencePrefill
    decode: TrafficInferenceDecode


class TrafficAccelerator(Table):
    """Accelerator of each rank, for `training` and for nodes of a Chakra trace that state no duration."""

    PATH: ClassVar[str] = "traffic.accelerator"
    flops: str
    memory_bandwidth: str


class TrafficInferencePrefill(Table):
    """Ranks that make first tokens and fill caches."""

    PATH: ClassVar[str] = "traffic.inference.prefill"
    groups: int
    tensor: int
    token: str


class TrafficInferenceDecode(Table):
    """Ranks that make all other tokens, step by step."""

    PATH: ClassVar[str] = "traffic.inference.decode"
    groups: int
    tensor: int
    expert: int
    batch: int
    slots: int
    step: str | list[str]


class Framing(Table):
    """Bytes around a payload: Ethernet, IPv4 and TCP with timestamps, where nothing else is said."""

    PATH: ClassVar[str] = "framing"
    mss: str
    headers: str
    least_frame: str
    gap: str
    whole_ns: bool


class Stop(Table):
    """When the simulation ends."""

    PATH: ClassVar[str] = "stop"
    at: str


class Replay(Table):
    """Messages of graphs that repeat take as long as others like them did; without it all packets are simulated."""

    PATH: ClassVar[str] = "replay"
    sample: float
    learn: int
    band: float


class Record(Table):
    """What is written down on the way, beside the table of flows."""

    PATH: ClassVar[str] = "record"
    interval: str
    omit: str
    queues: Any | list[Any]
    queue_interval: str
    windows: int | list[int]
    captures: Any | list[Any]
    capture_packets: int
    events: int


class Measure(Table):
    """Which flows count, by when they begin: in tables, figures, studies and verdicts. All, where nothing is said."""

    PATH: ClassVar[str] = "measure"
    from_: str
    to: str
