//! Open vSwitch's default selection of a select group: the dp_hash slot table, or scoring where that does not fit.

use super::table::{Layout, Rule, Table};
use super::{Granularity, Row};
use crate::apportion::dp_hash::{Sizing, skip_dead, slots};
use crate::{Members, PlanError};
use std::format;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "ovs-dp-hash",
    granularity: Granularity::Stateless,
    summary: "Open vSwitch select group: Webster over 2^k <= `max_slots` (256) slots, else 16-bit scoring",
    source: "ofproto-dpif.c, group_setup_dp_hash_table; `slots_per_bucket=4` from 3.1.6 and 3.5",
    build: |members, parameters| {
        let max = parameters.take("max_slots", 256)?;
        if !(16..=256).contains(&max) {
            return Err(PlanError::new(
                format!("max_slots: {max} is out of range"),
                "Open vSwitch takes 16 to 256 (64 before 2.17)",
            ));
        }
        let per_bucket = parameters.take("slots_per_bucket", 1)?;
        Table::planned(DpHash { sizing: Sizing { max, per_bucket } }, members)
    },
};

#[derive(Clone)]
struct DpHash {
    sizing: Sizing,
}

impl Rule for DpHash {
    /// The table follows the weights as configured; dead buckets keep their slots, and packets pass over them.
    fn lay_out(&mut self, members: &Members) -> Result<Layout, PlanError> {
        let asked = members.left().unwrap_or(members.weights()).as_slice();
        let divisor = if asked.iter().all(|&w| w <= 0xffff) { 1 } else { asked.iter().copied().fold(0, gcd) };
        let weights =
            asked.iter().map(|w| u16::try_from(w / divisor)).collect::<Result<Vec<_>, _>>().map_err(
                |_| {
                    let largest = asked.iter().max().copied().unwrap_or(0) / divisor;
                    PlanError::new(
                        format!("weights: {largest} exceeds a bucket's 16 bits in OpenFlow"),
                        "scale the weights so that the largest is at most 65535",
                    )
                },
            )?;
        let taking = members.taking();
        let table = slots(&weights, self.sizing)
            .and_then(|slots| skip_dead(&slots, |bucket| taking[usize::from(bucket)]));
        Ok(match table {
            Some(slots) => Layout::Entries(slots),
            None => {
                let alive = weights.iter().zip(&taking);
                Layout::Scores(alive.map(|(&w, &up)| if up { u64::from(w) } else { 0 }).collect())
            }
        })
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
