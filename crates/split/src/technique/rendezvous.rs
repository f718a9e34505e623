//! Logarithmic rendezvous: exact shares as a pure function of flow and weights. One changed weight moves exactly the
//! minimum; replicas agree without sharing any history.

use super::{Granularity, Parameters, Row, Stateless, Step, Technique};
use crate::apportion::reciprocal::{reciprocals, shares};
use crate::picks::rendezvous::{self, Entry};
use crate::picks::{lanes, mix};
use crate::{Members, PlanError};
use std::format;
use std::sync::Arc;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "log-rendezvous",
    granularity: Granularity::Stateless,
    summary: "least -log2(U)/weight; exact, minimal movement without history (code=simd|portable: same picks)",
    source: "Thaler & Ravishankar 1998; Ceph straw2",
    build: |members, parameters: &mut Parameters| {
        let portable = parameters.take_choice("code", &["simd", "portable"])? == "portable";
        Ok(Technique::stateless(LogRendezvous::new(members, portable)?))
    },
};

struct LogRendezvous {
    entries: Vec<Entry>,
    members: usize,
    portable: bool,
}

impl LogRendezvous {
    fn new(members: &Members, portable: bool) -> Result<Self, PlanError> {
        Ok(Self { entries: reciprocals(&members.effective())?, members: members.len(), portable })
    }
}

impl Stateless for LogRendezvous {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(members, self.portable)?))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        if self.portable {
            lanes::rendezvous_portable(&self.entries, flows, out);
        } else {
            lanes::rendezvous_batch(&self.entries, flows, out);
        }
    }

    fn pick_among(&self, flow: u64, open: &dyn Fn(u16) -> bool) -> Option<u16> {
        let open = self.entries.iter().filter(|entry| open(entry.member));
        open.min_by_key(|entry| rendezvous::score(flow as u32, entry)).map(|entry| entry.member)
    }

    fn shares(&self) -> Vec<f64> {
        shares(&self.entries, self.members)
    }

    fn state_bytes(&self) -> usize {
        size_of_val(&self.entries[..]) + rendezvous::TABLE_BYTES
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let step = |entry: &Entry| Step {
            what: format!("-log2(U)/weight of path {}", entry.member + 1),
            value: format!(
                "{} (-log2 U = {:.6})",
                rendezvous::score(flow as u32, entry),
                rendezvous::neg_log2(mix::value(flow as u32, entry.salt)) as f64 / 2_147_483_648.0
            ),
        };
        self.entries.iter().map(step).collect()
    }
}
