//! The only list of load balancers.

use crate::choice::{Balancing, Table};
use crate::descriptor::{Build, DefaultWeights, Descriptor};
use crate::granularity::Granularity;
use crate::load_balancer::Scheme;
use crate::tables::TABLES;
use crate::{
    ars, clove, conga, conweave, dbb, explicit, flowbender, flowcut, glb, hermes, hula, ideal, luopan,
    mp_rdma, mrc, omniscient, plb, presto, random_path, reps, saps, spritz, tdlb, uec, ugal, valiant, vms,
    wino,
};
use anabranch_plan::Weighing;

/// Load balancers that bring parameters of their own, in the order in which they are listed.
static SCHEMES: &[&Descriptor] = &[
    &ideal::IDEAL,
    &conga::CONGA,
    &dbb::DBB,
    &saps::SAPS,
    &wino::WINO,
    &luopan::LUOPAN,
    &omniscient::OMNISCIENT,
    &random_path::RANDOM_PATH,
    &valiant::VALIANT,
    &ugal::UGAL_L,
    &ugal::UGAL_G,
    &tdlb::TDLB,
    &hula::HULA,
    &conweave::CONWEAVE,
    &flowcut::FLOWCUT,
    &ars::ARS,
    &glb::GLB,
    &flowbender::FLOWBENDER,
    &plb::PLB,
    &presto::PRESTO,
    &presto::WEIGHTED_PRESTO,
    &clove::CLOVE_ECN,
    &clove::CLOVE_INT,
    &clove::CLOVE_VALO,
    &vms::VMS,
    &vms::VMS_WINDOW,
    &vms::VMS_VALO,
    &hermes::HERMES,
    &uec::UEC_OBLIVIOUS,
    &uec::UEC_BITMAP,
    &uec::UEC_MIXED,
    &reps::REPS,
    &uec::REPS_LEGACY,
    &mp_rdma::MP_RDMA,
    &mrc::MRC,
    &explicit::EXPLICIT,
    &spritz::SPRITZ_SCOUT,
    &spritz::SPRITZ_SPRAY,
];

/// Every load balancer, in the order in which tables show them.
pub fn all() -> impl Iterator<Item = &'static Descriptor> {
    TABLES.iter().chain(SCHEMES.iter().copied())
}

/// The load balancer of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Descriptor> {
    all().find(|descriptor| descriptor.name == name)
}

/// Load balancers whose controllers plan for pairs of leaves.
pub fn pair_planners() -> impl Iterator<Item = &'static Descriptor> {
    all().filter(|descriptor| {
        descriptor.balancing().scheme.get().is_some_and(|balancer| balancer.pair_planner().is_some())
    })
}

/// The load balancer that these choices are, if one has them: its scheme's, or the one with this granularity, weights and
/// table. `weights` are the default ones they equal, if they do.
#[must_use]
pub fn name_of(
    scheme: &Scheme,
    granularity: Granularity,
    weights: Option<DefaultWeights>,
    table: Table,
) -> Option<&'static str> {
    let same = |descriptor: &&Descriptor| match descriptor.build {
        Build::Tables(own, with) => {
            own.name() == granularity.name()
                && with.name() == table.name()
                && Some(descriptor.weights) == weights
        }
        Build::Scheme(_) => false,
    };
    match scheme.get() {
        Some(balancer) => Some(balancer.descriptor().name),
        None => TABLES.iter().find(same).map(|descriptor| descriptor.name),
    }
}

impl Descriptor {
    /// The load balancer with the defaults of everything that its name leaves open.
    #[must_use]
    pub fn balancing(&self) -> Balancing {
        let weighing = match self.weights {
            DefaultWeights::Equal => Weighing::Equal,
            DefaultWeights::Capacity => Weighing::Capacity,
        };
        match self.build {
            Build::Tables(granularity, table) => {
                Balancing { granularity, weighing, table, ..Balancing::ECMP }
            }
            Build::Scheme(scheme) => Balancing { weighing, scheme: scheme(), ..Balancing::ECMP },
        }
    }

    /// Bits of [`anabranch_split::capability`] that it cannot do without.
    #[must_use]
    pub fn needs(&self) -> u32 {
        self.balancing().needs()
    }
}
