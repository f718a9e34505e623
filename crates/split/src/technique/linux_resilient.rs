//! Linux resilient nexthop group.

use super::table::{Layout, Rule, Table};
use super::{Granularity, Row};
use crate::apportion::linux_resilient::{desired, migrate};
use crate::history::{counts, expect, words};
use crate::{Members, PlanError};
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "linux-resilient",
    granularity: Granularity::Stateless,
    summary: "Linux resilient nexthop group of `buckets` (256): a change moves only overweight buckets",
    source: "net/ipv4/nexthop.c; timers expired",
    build: |members, parameters| {
        let buckets = parameters.take("buckets", 256u16)?;
        if buckets == 0 {
            return Err(PlanError::new("buckets: 0", "give 1 to 65535, as in `ip nexthop ... buckets 256`"));
        }
        Table::planned(Resilient { buckets: vec![None; usize::from(buckets)] }, members)
    },
};

#[derive(Clone)]
struct Resilient {
    buckets: Vec<Option<u16>>,
}

impl Rule for Resilient {
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        migrate(&mut self.buckets, &members.effective());
        Ok(Layout::Entries(self.buckets.iter().copied().flatten().collect()))
    }

    fn history(&self) -> Vec<u8> {
        self.buckets.iter().copied().flatten().flat_map(u16::to_le_bytes).collect()
    }

    fn recall(&mut self, members: &Members, history: &[u8]) -> Result<Layout, PlanError> {
        expect(history.len() == 2 * self.buckets.len(), "another number of buckets")?;
        let weights = members.effective();
        let counts = counts(words(history), weights.len())?;
        let right = counts == desired(&weights, self.buckets.len() as u32);
        expect(right, "buckets whose shares are not those of the weights")?;
        self.buckets = words(history).map(Some).collect();
        Ok(Layout::Entries(words(history).collect()))
    }

    fn history_bytes(&self) -> usize {
        size_of_val(&self.buckets[..])
    }
}
