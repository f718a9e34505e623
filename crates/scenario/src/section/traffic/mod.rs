//! `[[traffic]]`: which flows there are.

mod foreign;
mod inference;
mod keys;
mod pattern;
mod sizes;
mod training;
mod work;

pub use inference::InferenceSetting;
pub(crate) use keys::visit;
pub use sizes::{SizeSource, SizesSetting};
pub use work::{CollectiveName, WorkSetting};

use crate::file::NamedFile;
use anabranch_fabric::Rate as LinkRate;
use anabranch_fabric::capacity::Reference;
use anabranch_form::Origin;
use anabranch_sim::transport::Transport;
use anabranch_traffic::Pattern;
use anabranch_traffic::workload::JobRate;

/// Default rate of the jobs of an incast.
pub(crate) const JOBS_PER_S: f64 = 1000.0;

/// One kind of traffic; those of a scenario run side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// Demand on the fabric.
    pub demand: Demand,
    /// When it begins, in picoseconds.
    pub start_ps: u64,
    /// Transport that carries it, where it is not `[transport]`.
    pub transport: Option<Transport>,
    /// Rate at which the application of each flow writes, where it does not write all at once.
    pub rate: Option<LinkRate>,
    /// Payload that it writes at once, where it is not a segment.
    pub burst_bytes: Option<u64>,
    /// Largest payload of its segments, where it is not `[framing]`'s.
    pub mss_bytes: Option<u16>,
    pub(crate) origin: Origin,
}

/// Demand on the fabric.
#[derive(Clone, Debug, PartialEq)]
pub enum Demand {
    /// Flows that arrive at random times.
    Poisson {
        /// Pattern of senders and receivers.
        pattern: Pattern,
        /// How much.
        sizes: SizesSetting,
        /// How often; none only until it is read.
        rate: Option<Rate>,
        /// How many; none only until it is read.
        amount: Option<Amount>,
    },
    /// One flow from every sender, all at once.
    Once {
        /// Pattern of senders and receivers.
        pattern: Pattern,
        /// How much.
        sizes: SizesSetting,
    },
    /// Many servers answer one client at once.
    Incast {
        /// Servers of each job.
        servers: u32,
        /// Bytes that each sends.
        response_bytes: u64,
        /// How often jobs arrive.
        rate: JobRate,
        /// Hosts that ask; any host where none is named.
        clients: Vec<u32>,
        /// How many; none only until it is read.
        amount: Option<Amount>,
    },
    /// Gradients summed around a ring.
    RingAllReduce {
        /// The ring, in order.
        workers: Vec<u32>,
        /// How much, and how often.
        training: Training,
    },
    /// Gradients pushed to servers, parameters pulled from them.
    ParameterServer {
        /// Hosts that compute.
        workers: Vec<u32>,
        /// Hosts that hold the parameters.
        servers: Vec<u32>,
        /// How much, and how often.
        training: Training,
    },
    /// Work of ranks with dependencies.
    Graph(WorkSetting),
    /// A list of flows.
    FlowList(NamedFile),
    /// The connections of a capture.
    Capture(NamedFile),
}

impl Demand {
    /// Whether it names hosts by their numbers.
    pub(crate) fn names_hosts(&self) -> bool {
        match self {
            Self::Poisson { pattern, .. } | Self::Once { pattern, .. } => {
                matches!(pattern, Pattern::Pairs(_))
            }
            Self::Incast { clients, .. } => !clients.is_empty(),
            Self::Graph(work) => !work.hosts.is_empty(),
            Self::RingAllReduce { .. } | Self::ParameterServer { .. } | Self::FlowList(_) => true,
            Self::Capture(_) => false,
        }
    }
}

/// How often flows arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Rate that makes a load.
    Load {
        /// Part of the capacity.
        fraction: f64,
        /// Capacity that it is a part of.
        reference: Reference,
        /// Value of that capacity in bits per second, where it is not the one as built.
        capacity_bps: Option<u64>,
    },
    /// Flows or jobs a second, all senders together.
    PerSecond(f64),
}

/// When arrivals end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// After so many.
    Count(u64),
    /// After so long, in picoseconds.
    Duration(u64),
}

/// Iterations of distributed training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Training {
    /// Parameters, in bytes.
    pub size_bytes: u64,
    /// How many times.
    pub iterations: u32,
    /// Computing between two iterations, in picoseconds.
    pub compute_ps: u64,
}

/// Kinds of traffic.
pub(crate) const KINDS: [&str; 8] =
    ["poisson", "once", "incast", "ring-all-reduce", "parameter-server", "graph", "flow-list", "capture"];

impl Default for Traffic {
    fn default() -> Self {
        Self::of_kind(KINDS[0])
    }
}

impl Traffic {
    /// Traffic of this kind with the defaults of every key.
    pub(crate) fn of_kind(kind: &str) -> Self {
        let training = Training { size_bytes: 100_000_000, iterations: 1, compute_ps: 0 };
        let demand = match kind {
            "once" => Demand::Once {
                pattern: Pattern::Permutation,
                sizes: SizesSetting::of(SizeSource::Fixed(1_000_000)),
            },
            "incast" => Demand::Incast {
                servers: 8,
                response_bytes: 50_000,
                rate: JobRate::PerSecond(JOBS_PER_S),
                clients: Vec::new(),
                amount: None,
            },
            "ring-all-reduce" => Demand::RingAllReduce { workers: Vec::new(), training },
            "parameter-server" => {
                Demand::ParameterServer { workers: Vec::new(), servers: Vec::new(), training }
            }
            "graph" => Demand::Graph(WorkSetting::default()),
            "flow-list" => Demand::FlowList(NamedFile::default()),
            "capture" => Demand::Capture(NamedFile::default()),
            _ => Demand::Poisson {
                pattern: Pattern::InterRack,
                sizes: SizesSetting::of(SizeSource::Published("web-search")),
                rate: None,
                amount: None,
            },
        };
        Self {
            demand,
            start_ps: 0,
            transport: None,
            rate: None,
            burst_bytes: None,
            mss_bytes: None,
            origin: Origin::default(),
        }
    }

    fn kind(&self) -> &'static str {
        match &self.demand {
            Demand::Poisson { .. } => KINDS[0],
            Demand::Once { .. } => KINDS[1],
            Demand::Incast { .. } => KINDS[2],
            Demand::RingAllReduce { .. } => KINDS[3],
            Demand::ParameterServer { .. } => KINDS[4],
            Demand::Graph(_) => KINDS[5],
            Demand::FlowList(_) => KINDS[6],
            Demand::Capture(_) => KINDS[7],
        }
    }

    /// When it is known to have begun its last flow, in picoseconds.
    pub(crate) fn end_ps(&self) -> u64 {
        match &self.demand {
            Demand::Poisson { amount: Some(Amount::Duration(duration_ps)), .. }
            | Demand::Incast { amount: Some(Amount::Duration(duration_ps)), .. } => {
                self.start_ps.saturating_add(*duration_ps)
            }
            _ => self.start_ps,
        }
    }
}
