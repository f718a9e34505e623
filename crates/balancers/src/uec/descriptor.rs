//! Registry entries of UEC spraying, oblivious, by bitmap and mixed, and of the elder REPS, which has the same keys.

use super::keys;
use crate::descriptor::{Build, Decider, DefaultWeights, Descriptor, Runs};
use crate::load_balancer::{LoadBalancer, Scheme};
use crate::task::Task;
use crate::uec::pick::{Bitmap, Oblivious, Parameters};
use crate::uec::recycle::{Mixed, Recycle};
use anabranch_form::AnyKeys;
use anabranch_sim::{Outcome, SimulationError};
use anabranch_split::Pick as _;

/// Rule by which a host chooses entropy values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The next value, whatever came back.
    Oblivious,
    /// The next value that did not do badly.
    Bitmap,
    /// Values that did well again, else the next that did not do badly.
    Mixed,
    /// Values that did well again.
    Recycle,
}

/// A rule with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Spraying {
    /// The rule.
    pub rule: Rule,
    /// Its parameters.
    pub parameters: Parameters,
}

impl Spraying {
    /// A rule with the defaults of its parameters.
    #[must_use]
    pub const fn new(rule: Rule) -> Self {
        Self { rule, parameters: Parameters::DEFAULT }
    }
}

/// UEC spraying that hears nothing.
pub static UEC_OBLIVIOUS: Descriptor =
    Descriptor::of_hosts("uec-oblivious", "packet", include_str!("page.md"), || {
        Scheme::new(Spraying::new(Rule::Oblivious))
    });

/// UEC spraying that avoids values that did badly.
pub static UEC_BITMAP: Descriptor =
    Descriptor::of_hosts("uec-bitmap", "packet", include_str!("page.md"), || {
        Scheme::new(Spraying::new(Rule::Bitmap))
    });

/// UEC spraying that uses good values again.
pub static UEC_MIXED: Descriptor =
    Descriptor::of_hosts("uec-mixed", "packet", include_str!("page.md"), || {
        Scheme::new(Spraying::new(Rule::Mixed))
    });

/// The elder REPS.
pub static REPS_LEGACY: Descriptor = Descriptor {
    name: "reps-legacy",
    granularity: "packet",
    decider: Decider::Hosts,
    page: include_str!("../reps/page.md"),
    weights: DefaultWeights::Equal,
    build: Build::Scheme(|| Scheme::new(Spraying::new(Rule::Recycle))),
    runs: Runs::SIMULATOR,
    reads_elsewhere: None,
};

impl LoadBalancer for Spraying {
    fn descriptor(&self) -> &'static Descriptor {
        match self.rule {
            Rule::Oblivious => &UEC_OBLIVIOUS,
            Rule::Bitmap => &UEC_BITMAP,
            Rule::Mixed => &UEC_MIXED,
            Rule::Recycle => &REPS_LEGACY,
        }
    }

    fn needs(&self) -> u32 {
        match self.rule {
            Rule::Oblivious => Oblivious::NEEDS,
            Rule::Bitmap => Bitmap::<Box<[u8]>>::NEEDS,
            Rule::Mixed => Mixed::<Box<[u16]>, Box<[u8]>>::NEEDS,
            Rule::Recycle => Recycle::<Box<[u16]>>::NEEDS,
        }
    }

    fn visit(&mut self, keys: &mut AnyKeys<'_>) {
        keys::visit(keys, &mut self.parameters);
    }

    fn simulate(&self, task: Task<'_>) -> Result<Outcome, SimulationError> {
        let plan = &self.parameters;
        match self.rule {
            Rule::Oblivious => task.by_hosts::<Oblivious>(plan),
            Rule::Bitmap => task.by_hosts::<Bitmap<_>>(plan),
            Rule::Mixed => task.by_hosts::<Mixed<_, _>>(plan),
            Rule::Recycle => task.by_hosts::<Recycle<_>>(plan),
        }
    }
}
