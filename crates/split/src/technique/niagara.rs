//! Niagara: wildcard rules on the hash.

use super::picker::{Picker, planned};
use super::{Granularity, Row, Stateless, Step, Technique};
use crate::apportion::cumulative::HASHES;
use crate::apportion::niagara::{Rules, rules, trie};
use crate::picks::Wildcard;
use crate::picks::wildcard::Suffix;
use crate::{Members, PlanError};
use std::boxed::Box;
use std::format;
use std::sync::Arc;
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
        Ok(Technique::stateless(Niagara::new(members, per_path)))
    },
};

struct Niagara {
    per_path: u16,
    rules: Rules,
    picker: Box<dyn Picker>,
}

impl Niagara {
    fn new(members: &Members, per_path: u16) -> Self {
        let weights = members.effective();
        let living = weights.iter().filter(|&&w| w > 0).count();
        let rules = rules(&weights, living * usize::from(per_path));
        let trie = trie(&rules.rules).into_boxed_slice();
        let behind = size_of_val(&trie[..]);
        Self { per_path, rules, picker: planned::<Wildcard<Box<[Suffix]>>>(Box::new(trie), behind) }
    }
}

impl Stateless for Niagara {
    fn replanned(&self, members: &Members) -> Result<Arc<dyn Stateless>, PlanError> {
        Ok(Arc::new(Self::new(members, self.per_path)))
    }

    fn pick(&self, flows: &[u64], out: &mut [u16]) {
        self.picker.pick(flows, out);
    }

    fn shares(&self) -> Vec<f64> {
        self.rules.hashes.iter().map(|&h| h as f64 / HASHES as f64).collect()
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
