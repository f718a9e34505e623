//! Fabrics and settings that tests share.

use anabranch_fabric::Fabric;
use anabranch_fabric::capacity::Reference;
use anabranch_fabric::topology::{FatTree, LeafSpine};
use anabranch_traffic::load::Load;
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{Amount, Arrivals, Poisson};
use anabranch_traffic::{Flow, Pattern, Start};

pub(crate) const PS_PER_S: u64 = 1_000_000_000_000;

/// Fabric of 4 leaves of 8 hosts and 4 spines, all at 10 Gbit/s: 2:1 over-subscribed.
pub(crate) fn leaf_spine() -> Fabric {
    LeafSpine::default().build().unwrap()
}

/// Fat-tree of 4 pods and 16 hosts, four to a pod.
pub(crate) fn fat_tree() -> Fabric {
    FatTree { k: 4, ..FatTree::default() }.build().unwrap()
}

pub(crate) fn load(fraction: f64, reference: Reference) -> Arrivals {
    Arrivals::Load(Load { fraction, reference, capacity_bps: None })
}

/// Flows of 100 kB from time zero.
pub(crate) fn poisson(pattern: Pattern, arrivals: Arrivals, amount: Amount) -> Poisson {
    Poisson { pattern, sizes: Sizes::Fixed(100_000), arrivals, amount, start_ps: 0, transport: 0 }
}

pub(crate) fn at_ps(flow: &Flow) -> u64 {
    match flow.start {
        Start::At(at_ps) => at_ps,
        Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => {
            panic!("{flow:?} begins at no time")
        }
    }
}
