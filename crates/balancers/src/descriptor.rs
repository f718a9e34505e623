//! Everything that anyone asks about a load balancer before it runs.

use crate::choice::Table;
use crate::granularity::Granularity;
use crate::load_balancer::Scheme;

/// Node that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// Every switch that has a choice.
    Switches,
    /// The leaf of the sender, for the whole path.
    Leaves,
    /// The sender's host.
    Hosts,
    /// Nobody while it runs: a plan made beforehand.
    Beforehand,
}

impl Decider {
    /// Word for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switches => "switches",
            Self::Leaves => "leaves",
            Self::Hosts => "hosts",
            Self::Beforehand => "beforehand",
        }
    }
}

/// Default origin of the weights of next hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultWeights {
    /// All next hops weigh the same.
    Equal,
    /// The capacity of the paths behind each next hop.
    Capacity,
}

/// How a load balancer is built from its name alone.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// A granularity and a table of the switches.
    Tables(Granularity, Table),
    /// A scheme with the defaults of its parameters.
    Scheme(fn() -> Scheme),
}

/// Program of the target `ebpf` that runs a load balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelProgram {
    /// Names of the programs; of several, the first whose split is near enough.
    pub programs: &'static [&'static str],
    /// Unit that chooses by itself: `flow`, `flowlet`, `flowcell`, `packet` (at random) or `turn`.
    pub unit: &'static str,
    /// Whether weights count.
    pub weighted: bool,
    /// Default of the plan's `pause` in nanoseconds, where a pause means something.
    pub pause_ns: Option<u64>,
    /// The only output that the program has; empty if it has them all.
    pub output: &'static str,
}

/// Implementations of a load balancer outside the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Technique of the library that makes the same choice.
    pub technique: Option<&'static str>,
    /// Recipe of Open vSwitch's groups that makes the same choice.
    pub open_vswitch: Option<&'static str>,
    /// Whether Linux' next-hop groups make the same choice.
    pub linux: bool,
    /// Program of the target `ebpf`.
    pub kernel: Option<KernelProgram>,
    /// Program of the target `ebpf` for other parameters: the key of `[routing.scheme]`, its value, the program.
    pub kernel_variant: Option<(&'static str, &'static str, KernelProgram)>,
}

impl Runs {
    /// In the simulator only.
    pub const SIMULATOR: Self =
        Self { technique: None, open_vswitch: None, linux: false, kernel: None, kernel_variant: None };
}

/// State of other switches or hosts that a load balancer reads at once: one machine has it at hand, a fabric in parts does
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// State of other hosts at the same leaf.
    Rack(&'static str),
    /// State of any switch or host.
    Fabric(&'static str),
}

/// One load balancer of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Descriptor {
    /// Name that people type.
    pub name: &'static str,
    /// Unit it keeps on one path: `flow`, `flowlet`, `flowcell` or `packet`.
    pub granularity: &'static str,
    /// Node that decides.
    pub decider: Decider,
    /// Page in Markdown: the rule, what is knowingly different from the paper, limits, source.
    pub page: &'static str,
    /// Weights of the switches' tables, unless others are given.
    pub weights: DefaultWeights,
    /// How it is built.
    pub build: Build,
    /// Implementations outside the simulator.
    pub runs: Runs,
    /// State of other switches or hosts that it reads, if it does.
    pub reads_elsewhere: Option<Elsewhere>,
}

impl Descriptor {
    /// Load balancer that hosts run, in the simulator alone, over tables that weigh all next hops the same unless told
    /// otherwise; it reads no state of other nodes.
    pub(crate) const fn of_hosts(
        name: &'static str,
        granularity: &'static str,
        page: &'static str,
        scheme: fn() -> Scheme,
    ) -> Self {
        Self {
            name,
            granularity,
            decider: Decider::Hosts,
            page,
            weights: DefaultWeights::Equal,
            build: Build::Scheme(scheme),
            runs: Runs::SIMULATOR,
            reads_elsewhere: None,
        }
    }
}
