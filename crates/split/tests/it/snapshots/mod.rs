//! Groups as bytes: what goes on from them, what is refused, and how replicas agree.

mod damage;
mod histories;
mod replicas;

use anabranch_split::{Batch, Granularity, Group, Members, Parameters, TECHNIQUES, Weights};
use proptest::prelude::*;

/// Settings that have a plan of another kind than the technique's own.
const SETTINGS: &[(&str, &[(&str, &str)])] = &[
    ("min-move", &[("slots", "4096")]),
    ("min-move", &[("slots", "4099")]),
    ("valo", &[("precision", "ovs"), ("on_failure", "stale")]),
    ("log-rendezvous", &[("code", "portable")]),
    ("maglev", &[("entries", "251")]),
    ("wcmp", &[("entries", "64")]),
    ("linux-resilient", &[("buckets", "1000")]),
    ("niagara", &[("rules_per_path", "5")]),
    ("ovs-dp-hash", &[("slots_per_bucket", "4")]),
];

/// Every stateless technique as it is, and the settings.
fn rules() -> Vec<(&'static str, Parameters)> {
    let plain = TECHNIQUES.iter().filter(|row| row.granularity == Granularity::Stateless);
    let plain = plain.map(|row| (row.name, Parameters::default()));
    plain
        .chain(SETTINGS.iter().map(|(name, pairs)| (*name, Parameters::new(pairs.iter().copied()))))
        .collect()
}

fn group(name: &str, weights: &[u64]) -> Group {
    let members = Members::all_up(Weights::new(weights.to_vec()).unwrap());
    Group::new(name, &members, &Parameters::default()).unwrap()
}

fn up(weights: &[u64], dead: &[usize]) -> Members {
    let up = (0..weights.len()).map(|member| !dead.contains(&member)).collect();
    Members::new(Weights::new(weights.to_vec()).unwrap(), up).unwrap()
}

fn pick(group: &Group) -> Vec<u16> {
    let keys: Vec<u64> = (1..20_000u64).map(|key| key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let mut out = vec![u16::MAX; keys.len()];
    group.pick_batch(&Batch::of_flows(&keys), &mut out);
    out
}

/// A change of the members that there are.
#[derive(Clone, Debug)]
enum Change {
    /// Other weights, all up; those beyond the present members are appended.
    Weights(Vec<u64>),
    /// These members are down, as far as there are so many.
    Down(Vec<usize>),
    /// This is left of the weights, as far as there are so many.
    Left(Vec<u64>),
}

impl Change {
    /// The members after it; `None` where nothing would be left.
    fn of(&self, members: &Members) -> Option<Members> {
        let asked = members.weights().as_slice();
        let over = |new: &[u64]| {
            let mut weights = asked.to_vec();
            weights.iter_mut().zip(new).for_each(|(weight, &new)| *weight = new);
            weights
        };
        match self {
            Self::Weights(new) => {
                let mut weights = over(new);
                weights.extend(new.iter().skip(asked.len()));
                Weights::new(weights).ok().map(Members::all_up)
            }
            Self::Down(dead) => Members::new(
                members.weights().clone(),
                (0..asked.len()).map(|i| !dead.contains(&i)).collect(),
            )
            .ok(),
            Self::Left(left) => {
                Some(Members::lessened(members.weights().clone(), Weights::new(over(left)).ok()?))
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        prop::collection::vec(0u64..40, 1..12).prop_map(Change::Weights),
        prop::collection::vec(0usize..8, 0..4).prop_map(Change::Down),
        prop::collection::vec(0u64..40, 1..8).prop_map(Change::Left),
    ]
}
