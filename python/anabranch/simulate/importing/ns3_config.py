"""Settings of ns-3's RDMA simulators as keys of a scenario: `config.txt` of HPCC and conweave-ns3, `SimAI.conf`.

What the keys mean is read in `simulation/scratch/third.cc` of alibaba-edu/High-Precision-Congestion-Control and
`scratch/network-load-balance.cc` of conweave-project/conweave-ns3. What those programs do without a key (a notification
in each acknowledgement, frames in whole nanoseconds, 48 B of headers) is set here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from anabranch.files.errors import AnabranchError
from anabranch.simulate.importing.plain_text import Line, lines

HINT = "give it as the simulator reads it"
CONTROLS = {"1": "dcqcn", "3": "hpcc", "7": "timely"}
UNKNOWN_CONTROLS = {"8": "DCTCP", "10": "HPCC-PINT"}
GUARANTEED_BYTES = 1049
"""What conweave-ns3's test of marks leaves out of a queue: its guarantee, and one more byte."""
HEADROOM_BYTES = 27096
"""Headroom of a port there: `ConfigHdrm`."""
CONGA = {"gap": "100 us", "period": "50 us", "age": "500 us", "candidates": 4, "wrap": False, "data_only": True}
BALANCE: dict[str, dict[str, Any]] = {
    "0": {"balance": "ecmp"},
    "2": {"balance": "drill"},
    "3": {"balance": "conga", "scheme": CONGA},
    "6": {"balance": "letflow", "gap": "100 us"},
    "9": {"balance": "conweave", "scheme": {"control": "48 B"}},
}
CONWEAVE_US = {
    "CONWEAVE_REPLY_TIMEOUT_EXTRA": "extra_reply",
    "CONWEAVE_PATH_PAUSE_TIME": "pause",
    "CONWEAVE_EXTRA_VOQ_FLUSH_TIME": "extra_hold",
    "CONWEAVE_DEFAULT_VOQ_WAITING_TIME": "default_hold",
    "CONWEAVE_TX_EXPIRY_TIME": "expiry",
}
DCQCN_US = {
    "ALPHA_RESUME_INTERVAL": "alpha_interval",
    "RATE_DECREASE_INTERVAL": "decrease_interval",
    "RP_TIMER": "increase_interval",
}
RATES = {"RATE_AI": "additive", "RATE_HAI": "hyper", "MIN_RATE": "rate_min"}
MAPS = ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP")
EXPECTED = {
    "ENABLE_QCN": "1",
    "USE_DYNAMIC_PFC_THRESHOLD": "1",
    "L2_ACK_INTERVAL": "1",
    "L2_BACK_TO_ZERO": "0",
    "RATE_BOUND": "1",
    "MULTI_RATE": "0",
    "SAMPLE_FEEDBACK": "0",
    "ACK_HIGH_PRIO": "1",
}
"""Values that this simulator behaves by; another is a warning."""
WITHOUT_EFFECT = (
    "L2_CHUNK_SIZE",
    "DCTCP_RATE_AI",
    "GLOBAL_T",
    "INT_MULTI",
    "LOAD",
    "SIMULATOR_STOP_TIME",
    "FLOWGEN_START_TIME",
    "FLOWGEN_STOP_TIME",
    "SW_MONITORING_INTERVAL",
    "ENABLE_TRACE",
    "PINT_LOG_BASE",
    "PINT_PROB",
    "NIC_TOTAL_PAUSE_TIME",
)
"""Keys of measuring, of other congestion controls, and of what the flow list says."""


@dataclass
class Config:
    """What a configuration says."""

    file: str
    conweave: bool
    """Whether it is conweave-ns3's, which has keys of load balancing and recovery."""
    topology: str | None = None
    flows: str | None = None
    fabric: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    seed: int | None = None
    marks: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Marking of links by their rate in bits per second."""
    link_down: tuple[str, str, str] | None = None
    """Microseconds after the first second of flows, and the two nodes."""
    warnings: list[str] = field(default_factory=list)


def is_config(text: str) -> bool:
    """Whether a text has keys that every such configuration has; HPCC's page about them has braces too."""
    if "{" in text:
        return False
    first = {line.words[0] for line in lines(text)}
    return len(first & {"CC_MODE", "PACKET_PAYLOAD_SIZE", "KMAX_MAP", "TOPOLOGY_FILE", "FLOW_FILE"}) >= 2


def read(text: str, file: str) -> Config:
    """Reads a configuration.

    Raises:
        AnabranchError: a value is none, or a congestion control is none that this simulator has.

    """
    keys: dict[str, Line] = {}
    for line in lines(text):
        keys[line.words[0]] = line
    config = Config(file, conweave=bool({"LB_MODE", "ENABLE_IRN"} & set(keys)))
    reader = _Reader(config, keys)
    reader.switches()
    reader.transport()
    reader.balance()
    reader.rest()
    return config


class _Reader:
    def __init__(self, config: Config, keys: dict[str, Line]) -> None:
        self.config, self.keys = config, keys
        self.taken: set[str] = set()
        self.transport_table: dict[str, Any] = {}

    def word(self, key: str, default: str | None = None) -> str | None:
        """The value of a key."""
        self.taken.add(key)
        line = self.keys.get(key)
        if line is None:
            return default
        if len(line.words) < 2:
            raise self.error(key, "no value")
        return line.words[1]

    def number(self, key: str, default: float | None = None) -> float | None:
        """The value of a key as a number."""
        word = self.word(key)
        try:
            return default if word is None else float(word)
        except ValueError:
            raise self.error(key, f"`{word}` is no number") from None

    def error(self, key: str, problem: str) -> AnabranchError:
        """An error of a key."""
        return AnabranchError(f"{self.config.file}:{self.keys[key].number}: {key}: {problem}; {HINT}")

    def warn(self, key: str, problem: str) -> None:
        """A warning of a key."""
        line = self.keys[key]
        self.config.warnings.append(f"{self.config.file}:{line.number}: {key} {' '.join(line.words[1:])}: {problem}")

    def switches(self) -> None:
        """Pauses, buffers and marks."""
        config = self.config
        lossless = self.word("ENABLE_PFC", "1") != "0"
        config.fabric["preset"] = "lossless-roce" if lossless else "lossy"
        shared: dict[str, Any] = {}
        if (size := self.number("BUFFER_SIZE")) is not None:
            shared["size"] = f"{int(size * 1024 * 1024)} B"
        if lossless:
            shared |= {"refresh": "arrival", "headroom": f"{HEADROOM_BYTES} B"}
            if config.conweave:
                shared["lossless_alpha"] = 1.0
        config.fabric["switch"] = {"shared": shared} | ({} if lossless else {"ecn_at": "dequeue"})
        maps = {key: self._map(key) for key in MAPS if key in self.keys}
        if len(maps) not in (0, len(MAPS)):
            config.warnings.append(f"{config.file}: {', '.join(maps)} without the other of {', '.join(MAPS)}: not read")
        elif maps:
            more = GUARANTEED_BYTES if config.conweave else 0
            for rate in maps["KMIN_MAP"]:
                if all(rate in one for one in maps.values()):
                    low, high, most = (maps[key][rate] for key in MAPS)
                    ends = {"low": f"{int(low * 1000) + more} B", "high": f"{int(high * 1000) + more} B"}
                    config.marks[rate] = ends | {"probability": most}

    def _map(self, key: str) -> dict[int, float]:
        """Values by rate: `KMAX_MAP 2 25000000000 400 100000000000 1600`."""
        self.taken.add(key)
        words = self.keys[key].words[1:]
        try:
            count = int(words[0])
            pairs = words[1 : 1 + 2 * count]
            if len(words) != 1 + 2 * count:
                raise ValueError
            return {int(rate): float(value) for rate, value in zip(pairs[::2], pairs[1::2], strict=True)}
        except (ValueError, IndexError):
            raise self.error(key, f"`{' '.join(words)}` is no count with so many rates and values") from None

    def transport(self) -> None:
        """Congestion control and recovery."""
        config, table = self.config, self.transport_table
        mode = self.word("CC_MODE", "1") or "1"
        if mode not in CONTROLS:
            name = UNKNOWN_CONTROLS.get(mode, "a congestion control that is unknown")
            known = ", ".join(f"{number} ({name})" for number, name in CONTROLS.items())
            raise self.error("CC_MODE", f"{mode}: {name}, which this simulator has not; set one of {known}")
        table |= {"kind": "roce", "control": CONTROLS[mode]}
        if self.word("ENABLE_IRN", "0") != "0":
            table["recovery"] = "selective"
        rates = {key: name for key, name in RATES.items() if mode == "1" or (mode == "7" and key != "RATE_HAI")}
        if mode == "1":
            for key, name in DCQCN_US.items():
                if (value := self.number(key)) is not None:
                    table[name] = f"{value:g} us"
            if (gain := self.number("EWMA_GAIN")) is not None:
                table["gain"] = gain
            if (recoveries := self.number("FAST_RECOVERY_TIMES")) is not None:
                table["fast_recovery"] = int(recoveries)
            if (clamp := self.word("CLAMP_TARGET_RATE")) is not None:
                table["clamp_target"] = clamp != "0"
        elif mode == "3":
            if (target := self.number("U_TARGET")) is not None:
                table["utilization"] = target
            if (stages := self.number("MI_THRESH")) is not None:
                table["stages"] = int(stages)
            if "RATE_AI" in self.keys:
                self.taken.add("RATE_AI")
                self.warn("RATE_AI", "HPCC's step follows from U_TARGET here; set transport.step to give another")
        for key, name in rates.items():
            if (rate := self.word(key)) is not None:
                table[name] = rate.replace("b/s", "bps")
        # What conweave-ns3 and HPCC do by themselves.
        table |= {"cnp_interval": "0 s", "cnp_in_answer": True, "completion": "acknowledged", "answer": "60 B"}
        if config.conweave:
            table["cnp_out_of_order"] = True
        for key in ("HAS_WIN", "VAR_WIN", "FAST_REACT"):
            expected = "1" if mode == "3" else "0"
            if self.word(key, expected) != expected:
                self.warn(key, f"{CONTROLS[mode]} has {'a' if expected == '1' else 'no'} window here; not taken over")
        config.tables["transport"] = table
        config.tables["host"] = {"nic": "rdma", "jitter": False}
        payload = self.number("PACKET_PAYLOAD_SIZE", 1000)
        assert payload is not None
        framing = {"mss": f"{int(payload)} B", "headers": "48 B"}
        config.tables["framing"] = framing | {"least_frame": "1 B", "gap": "0 B", "whole_ns": True}

    def balance(self) -> None:
        """The load balancer and its parameters."""
        mode = self.word("LB_MODE", "0") or "0"
        if mode not in BALANCE:
            known = ", ".join(f"{number} ({routing['balance']})" for number, routing in BALANCE.items())
            raise self.error("LB_MODE", f"{mode} is no load balancer that this simulator has; set one of {known}")
        routing = dict(BALANCE[mode])
        scheme = {}
        for key, name in CONWEAVE_US.items():
            if (value := self.number(key)) is not None:
                scheme[name] = f"{value:g} us"
        if mode == "9":
            routing["scheme"] = scheme | routing["scheme"]
        self.config.tables["routing"] = routing

    def rest(self) -> None:
        """Files, seed, failures, and keys that change nothing or are not understood."""
        config = self.config
        config.topology, config.flows = self.word("TOPOLOGY_FILE"), self.word("FLOW_FILE")
        if (seed := self.number("RANDOM_SEED")) is not None:
            config.seed = int(seed)
        for key, expected in EXPECTED.items():
            if key == "ACK_HIGH_PRIO" and config.conweave:
                continue
            if self.word(key, expected) != expected:
                self.warn(key, f"here it is as with {expected}; not taken over")
        if self.number("ERROR_RATE_PER_LINK", 0.0):
            self.warn("ERROR_RATE_PER_LINK", "not taken over; write it to each link of the topology file")
        self.taken.add("LINK_DOWN")
        down = self.keys.get("LINK_DOWN")
        if down is not None and down.words[1:] != ["0", "0", "0"]:
            if len(down.words) != 4:
                raise self.error("LINK_DOWN", f"`{' '.join(down.words[1:])}` is no time with two nodes")
            config.link_down = (down.words[1], down.words[2], down.words[3])
        known = self.taken | set(WITHOUT_EFFECT) | set(DCQCN_US) | set(RATES)
        known |= {"EWMA_GAIN", "FAST_RECOVERY_TIMES", "CLAMP_TARGET_RATE", "U_TARGET", "MI_THRESH", "ACK_HIGH_PRIO"}
        for key in self.keys:
            if key not in known and not key.endswith("_FILE") and "MON" not in key.split("_"):
                self.warn(key, "unknown, and not taken over")
