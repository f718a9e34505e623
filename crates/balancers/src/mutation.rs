//! Mutations: mechanisms of load balancers that can be broken on purpose, so that a study shows which of its verdicts see
//! them. Each changes the parameters before a run begins.

use crate::GravityRule;
use crate::choice::{Balancing, Table};
use crate::clove::Clove;
use crate::dbb::parameters::{CycleOrder, Dbb, PairBandwidth};
use crate::dbb::pick::Counter;
use crate::descriptor::Descriptor;
use crate::luopan::parameters::Luopan;
use crate::luopan::pick::Preference as Sample;
use crate::reps::pick::{Freezing, Parameters as Reps, Recycling};
use crate::tdlb::parameters::Tdlb;
use crate::tdlb::pick::Detect;
use crate::tdlb::pick::delays::Preference as Path;
use crate::vms::Vms;
use crate::wino::parameters::Wino;
use crate::wino::pick::{Meter, RoundRobin};
use anabranch_plan::Weighing;
use std::fmt;

/// What balances by VALO's gravities.
const VALO: [&str; 3] = ["valo", "clove+valo", "vms+valo"];
/// LetFlow's flowlet timeout at 10 Gb/s, in nanoseconds.
const FIXED_TIMEOUT_NS: u64 = 500_000;

/// One mechanism of a load balancer, broken.
pub struct Mutation {
    /// Name under `routing.mutation`; no two mutations have the same.
    pub name: &'static str,
    /// Load balancers whose mechanism it breaks.
    pub balancers: &'static [&'static str],
    /// What happens instead, in a sentence.
    pub broken: &'static str,
    apply: fn(&mut Balancing),
}

/// All mutations, by load balancer.
pub static MUTATIONS: [Mutation; 21] = [
    Mutation {
        name: "gravity-equal",
        balancers: &VALO,
        broken: "All gravities are the same, whatever the weights.",
        apply: |balancing| {
            change_gravity(balancing, GravityRule::Equal);
            match &mut balancing.weighing {
                Weighing::Capacity if balancing.table == Table::Valo => balancing.weighing = Weighing::Equal,
                Weighing::Given(weights) if balancing.table == Table::Valo => {
                    weights.iter_mut().for_each(|(_, _, weight)| *weight = (*weight).min(1));
                }
                _ => {}
            }
        },
    },
    Mutation {
        name: "gravity-plain",
        balancers: &VALO,
        broken: "Gravities are the weights themselves, as Open vSwitch scores.",
        apply: |balancing| {
            change_gravity(balancing, GravityRule::Plain);
            if balancing.table == Table::Valo {
                balancing.table = Table::Scoring;
            }
        },
    },
    Mutation {
        name: "random-order",
        balancers: &["dbb"],
        broken: "Each switch has the packets of its cycle in an order drawn at random; every link keeps its quota.",
        apply: |balancing| change(balancing, |dbb: &mut Dbb| dbb.order = CycleOrder::Drawn),
    },
    Mutation {
        name: "blocks",
        balancers: &["dbb"],
        broken: "Each switch has all packets of a link one after the other in its cycle; every link keeps its quota.",
        apply: |balancing| change(balancing, |dbb: &mut Dbb| dbb.order = CycleOrder::Blocks),
    },
    Mutation {
        name: "random",
        balancers: &["dbb"],
        broken: "Every packet draws its link by itself, each link of the cycle alike (RPS).",
        apply: |balancing| change(balancing, |dbb: &mut Dbb| dbb.switches.counter = Counter::Drawn),
    },
    Mutation {
        name: "bandwidths-ignored",
        balancers: &["dbb"],
        broken: "All links count as having the same bandwidth when the cycle is made.",
        apply: |balancing| change(balancing, |dbb: &mut Dbb| dbb.bandwidth = PairBandwidth::Alike),
    },
    Mutation {
        name: "meters-ignored",
        balancers: &["wino"],
        broken: "No slice has a rate: meters let every packet pass.",
        apply: |balancing| change(balancing, |wino: &mut Wino| wino.switches.meter = Meter::Off),
    },
    Mutation {
        name: "equal-slices",
        balancers: &["wino"],
        broken: "Every path has as many slices as any other, whatever bandwidth it has left.",
        apply: |balancing| change(balancing, |wino: &mut Wino| wino.equal_slices = true),
    },
    Mutation {
        name: "random-slices",
        balancers: &["wino"],
        broken: "Every packet draws its slice at random instead of the next in turn.",
        apply: |balancing| change(balancing, |wino: &mut Wino| wino.switches.round_robin = RoundRobin::Drawn),
    },
    Mutation {
        name: "residuals-ignored",
        balancers: &["wino"],
        broken: "Slices are cut from whole links: the controller takes off no traffic that is in no slice.",
        apply: |balancing| change(balancing, |wino: &mut Wino| wino.hysteresis = f64::INFINITY),
    },
    Mutation {
        name: "samples-ignored",
        balancers: &["luopan"],
        broken: "Probes are sent and answered, but each flowcell draws its path at random.",
        apply: |balancing| {
            change(balancing, |luopan: &mut Luopan| luopan.sampling.preference = Sample::Ignored);
        },
    },
    Mutation {
        name: "most-congested",
        balancers: &["luopan"],
        broken: "Of the sampled paths the most congested is taken.",
        apply: |balancing| change(balancing, |luopan: &mut Luopan| luopan.sampling.preference = Sample::Most),
    },
    Mutation {
        name: "samples-stale",
        balancers: &["luopan"],
        broken: "Samples never expire: those of the first round serve as long as flowcells go to a leaf.",
        apply: |balancing| change(balancing, |luopan: &mut Luopan| luopan.sampling.expiry_ns = u64::MAX),
    },
    Mutation {
        name: "fixed-timeout",
        balancers: &["tdlb"],
        broken: "The flowlet timeout is 500 us, whatever the delays of the paths.",
        apply: |balancing| {
            change(balancing, |tdlb: &mut Tdlb| {
                tdlb.timeout_min_ns = Some(FIXED_TIMEOUT_NS);
                tdlb.rules.timeout_max_ns = FIXED_TIMEOUT_NS;
            });
        },
    },
    Mutation {
        name: "no-timeout",
        balancers: &["tdlb"],
        broken: "The flowlet timeout is zero: an innocent flow leaves a congested path at its next packet.",
        apply: |balancing| {
            change(balancing, |tdlb: &mut Tdlb| {
                tdlb.timeout_min_ns = Some(0);
                tdlb.rules.timeout_max_ns = 0;
            });
        },
    },
    Mutation {
        name: "culprits-move",
        balancers: &["tdlb"],
        broken: "Flows that congest a path are not told from innocent ones, and move as those do.",
        apply: |balancing| change(balancing, |tdlb: &mut Tdlb| tdlb.array = 0),
    },
    Mutation {
        name: "slowest-path",
        balancers: &["tdlb"],
        broken: "New flows and moved flowlets go by the slowest path.",
        apply: |balancing| change(balancing, |tdlb: &mut Tdlb| tdlb.preference = Path::Slowest),
    },
    Mutation {
        name: "undetected",
        balancers: &["tdlb"],
        broken: "No path is ever found congested, and no flowlet moves.",
        apply: |balancing| change(balancing, |tdlb: &mut Tdlb| tdlb.rules.detect = Detect::Nowhere),
    },
    Mutation {
        name: "unrecycled",
        balancers: &["reps"],
        broken: "No entropy value is used again: each packet draws its own, frozen or not.",
        apply: |balancing| change(balancing, |reps: &mut Reps| reps.recycling = Recycling::Never),
    },
    Mutation {
        name: "marks-ignored",
        balancers: &["reps"],
        broken: "Entropy values are used again whether or not their packets arrived marked.",
        apply: |balancing| change(balancing, |reps: &mut Reps| reps.recycling = Recycling::Arrived),
    },
    Mutation {
        name: "unfrozen",
        balancers: &["reps"],
        broken: "Timeouts change nothing: no flow freezes.",
        apply: |balancing| change(balancing, |reps: &mut Reps| reps.freezing = Freezing::Never),
    },
];

/// Changes the parameters of the scheme, if they are of this type.
fn change<T: 'static>(balancing: &mut Balancing, change: impl FnOnce(&mut T)) {
    if let Some(parameters) = balancing.scheme.parameters_mut::<T>() {
        change(parameters);
    }
}

/// Changes the gravities of hosts that score by them.
fn change_gravity(balancing: &mut Balancing, gravity: GravityRule) {
    change(balancing, |clove: &mut Clove| clove.gravity = gravity);
    change(balancing, |vms: &mut Vms| vms.gravity = gravity);
}

impl Mutation {
    /// The mutation of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        MUTATIONS.iter().find(|mutation| mutation.name == name)
    }

    /// Breaks the mechanism in a choice of its load balancer.
    pub fn apply(&self, balancing: &mut Balancing) {
        (self.apply)(balancing);
    }

    /// Sentence that whoever runs it should read.
    #[must_use]
    pub fn warning(&self) -> String {
        let Self { name, broken, .. } = self;
        format!("routing.mutation: {name}: the load balancer is broken on purpose: {broken}")
    }
}

impl Descriptor {
    /// Mechanisms of it that can be broken on purpose.
    pub fn mutations(&self) -> impl Iterator<Item = &'static Mutation> {
        let name = self.name;
        MUTATIONS.iter().filter(move |mutation| mutation.balancers.contains(&name))
    }
}

impl PartialEq for Mutation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Mutation {}

impl fmt::Debug for Mutation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name)
    }
}
