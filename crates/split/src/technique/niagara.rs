//! Niagara: wildcard rules on the hash.

use super::picker::{Picker, planned};
use super::{Batch, Granularity, Row, Step, Technique};
use crate::apportion::cumulative::HASHES;
use crate::apportion::niagara::{Rules, rules, trie};
use crate::picks::Wildcard;
use crate::picks::wildcard::Suffix;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::vec;
use std::vec::Vec;

pub(super) const ROW: Row = Row {
    name: "niagara",
    granularity: Granularity::Stateless,
    summary: "wildcard rules on the hash's low bits, `rules_per_path` (3) for each path",
    source: "Kang et al., CoNEXT 2015",
    build: |members, parameters| {
        let per_path = parameters.take("rules_per_path", 3)?;
        if per_path == 0 {
            return Err(PlanError::new("rules_per_path: 0", "give at least 1"));
        }
        let planned = plan(members, per_path);
        Ok(Box::new(Niagara { per_path, rules: planned.0, picker: planned.1 }))
    },
};

struct Niagara {
    per_path: u16,
    rules: Rules,
    picker: Box<dyn Picker>,
}

fn plan(members: &Members, per_path: u16) -> (Rules, Box<dyn Picker>) {
    let weights = members.effective();
    let living = weights.iter().filter(|&&w| w > 0).count();
    let rules = rules(&weights, living * usize::from(per_path));
    let trie = trie(&rules.rules).into_boxed_slice();
    let behind = size_of_val(&trie[..]);
    (rules, planned::<Wildcard<Box<[Suffix]>>>(Box::new(trie), behind))
}

impl Technique for Niagara {
    fn plan(&mut self, members: &Members) -> Result<(), PlanError> {
        (self.rules, self.picker) = plan(members, self.per_path);
        Ok(())
    }

    fn pick(&mut self, batch: &Batch<'_>, out: &mut [u16]) {
        self.picker.pick(batch.flows, out);
    }

    fn shares(&self) -> Option<Vec<f64>> {
        Some(self.rules.hashes.iter().map(|&h| h as f64 / HASHES as f64).collect())
    }

    fn state_bytes(&self) -> usize {
        self.picker.bytes()
    }

    fn explain(&self, flow: u64) -> Vec<Step> {
        let Some((piece, _)) = self.rules.longest_match(flow as u32) else { return Vec::new() };
        let digits = piece.bits as usize;
        let value = if digits == 0 { "*".into() } else { format!("*{:0digits$b}", piece.pattern) };
        vec![Step { what: "rule".into(), value }]
    }
}
