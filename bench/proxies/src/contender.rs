//! Contenders: techniques of the splitter, and the rules of other programs.

use crate::backends::{Backends, names};
use crate::lookup::Lookup;
use crate::{maglev, ring};
use anabranch_bench::flow_keys;
use anabranch_split::{Batch, Group, Members, Parameters, PlanError, Weights};

/// Hashes by which moves of techniques that compute are counted.
const SAMPLE: usize = 1 << 20;

/// Techniques that keep weights of 1 to 100 and move few connections. The others move six times the least or more, or are
/// there to be compared with (`random`), as `anabranch split` shows.
const TECHNIQUES: [&str; 5] = ["min-move", "log-rendezvous", "rejection-cells", "valo", "maglev"];

/// One line of the comparison.
#[derive(Clone)]
pub(crate) enum Contender {
    /// A technique of the splitter, with parameters.
    Library { technique: &'static str, parameter: Option<(&'static str, &'static str)> },
    /// A rule from weights and the number of a set of names to a lookup, written anew for each change if `rebuilds`.
    Published { name: &'static str, rule: fn(&[u64], u64) -> Lookup, rebuilds: bool },
}

/// A group of one contender.
pub(crate) enum Standing {
    Library(Group),
    Published { rule: fn(&[u64], u64) -> Lookup, seed: u64, lookup: Lookup },
}

/// All who are compared: the splitter's first.
pub(crate) fn all() -> Vec<Contender> {
    let library = |technique, parameter| Contender::Library { technique, parameter };
    let published = |name, rule, rebuilds| Contender::Published { name, rule, rebuilds };
    let mut all = TECHNIQUES.map(|technique| library(technique, None)).to_vec();
    all.push(library("linux-resilient", Some(("buckets", "65520"))));
    all.extend([
        published("Katran, Maglev V1", |weights, seed| of(weights, seed, maglev::katran_v1_table), true),
        published("Katran, Maglev V1, weights summing to 65537", katran_v1_scaled, true),
        published("Katran, Maglev V2", |weights, seed| of(weights, seed, maglev::katran_v2_table), true),
        published("Cilium, Maglev of 16381", |weights, seed| of(weights, seed, maglev::cilium_table), true),
        published("Envoy, Maglev of 65537", |weights, seed| of(weights, seed, maglev::envoy_table), true),
        published("Envoy, ring hash of 1024", |weights, seed| of(weights, seed, ring::envoy_ring), true),
        published(
            "HAProxy, consistent",
            |weights, seed| ring::haproxy_ring(weights, 1 + seed as u32 * 100),
            false,
        ),
    ]);
    all
}

fn of(weights: &[u64], seed: u64, rule: fn(&Backends<'_>) -> Lookup) -> Lookup {
    let names = names(weights.len(), seed);
    rule(&Backends { names: &names, weights })
}

/// Katran's first rule is meant for weights whose sum is the length of the table (`MaglevHashV2.h` says so).
fn katran_v1_scaled(weights: &[u64], seed: u64) -> Lookup {
    let (sum, length) = (weights.iter().sum::<u64>(), maglev::LARGE as u64);
    let mut before = 0;
    let scaled = weights.iter().map(|&weight| {
        let begins = before * length / sum;
        before += weight;
        before * length / sum - begins
    });
    of(&scaled.collect::<Vec<_>>(), seed, maglev::katran_v1_table)
}

impl Contender {
    /// Name in the table.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Library { technique, parameter: None } => format!("`{technique}`"),
            Self::Library { technique, parameter: Some((key, value)) } => {
                format!("`{technique}:{key}={value}`")
            }
            Self::Published { name, .. } => (*name).to_owned(),
        }
    }

    /// Whether a change costs what the rule costs; else the program itself changes parts of a tree.
    pub(crate) fn update_is_timed(&self) -> bool {
        !matches!(self, Self::Published { rebuilds: false, .. })
    }

    /// The group of these weights.
    pub(crate) fn standing(&self, weights: &[u64], seed: u64) -> Result<Standing, PlanError> {
        Ok(match *self {
            Self::Library { technique, parameter } => {
                let pairs = parameter.map(|(key, value)| (key.to_owned(), value.to_owned()));
                let parameters = Parameters::new(pairs);
                Standing::Library(Group::new(technique, &members(weights)?, &parameters)?)
            }
            Self::Published { rule, .. } => Standing::Published { rule, seed, lookup: rule(weights, seed) },
        })
    }
}

impl Standing {
    /// Takes new weights; zero is a member that has left.
    pub(crate) fn update(&mut self, weights: &[u64]) -> Result<(), PlanError> {
        match self {
            Self::Library(group) => group.update(&members(weights)?),
            Self::Published { rule, seed, lookup } => {
                *lookup = rule(weights, *seed);
                Ok(())
            }
        }
    }

    /// The plan that picks read.
    pub(crate) fn lookup(&self) -> Lookup {
        match self {
            Self::Library(group) => match group.table() {
                Some(table) => Lookup::Table(table),
                None => {
                    let flows = flow_keys(SAMPLE);
                    let mut picks = vec![0; SAMPLE];
                    group.pick_batch(&Batch { flows: &flows, bytes: &[], times_ns: &[] }, &mut picks);
                    Lookup::Computed { picks, shares: group.shares().unwrap_or_default() }
                }
            },
            Self::Published { lookup, .. } => lookup.clone(),
        }
    }

    /// Picks a member for each key.
    pub(crate) fn pick(&self, keys: &[u64], out: &mut [u16]) {
        match self {
            Self::Library(group) => {
                group.pick_batch(&Batch { flows: keys, bytes: &[], times_ns: &[] }, out);
            }
            Self::Published { lookup, .. } => lookup.pick(keys, out),
        }
    }

    /// A copy that has its own plan from now on.
    pub(crate) fn copy(&self) -> Self {
        match self {
            Self::Library(group) => Self::Library(group.clone()),
            Self::Published { rule, seed, lookup } => {
                Self::Published { rule: *rule, seed: *seed, lookup: lookup.clone() }
            }
        }
    }
}

fn members(weights: &[u64]) -> Result<Members, PlanError> {
    Ok(Members::all_up(Weights::new(weights.to_vec())?))
}
