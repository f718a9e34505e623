//! Ways to divide destinations into parts, each kept once.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Divisions of the destinations: for each destination the number of its part. Most switches of a tier divide them alike,
/// as one part upwards, or by pods, so that a few divisions serve a whole fabric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// All divisions, one after the other.
    flat: Vec<u32>,
    /// Offsets of divisions, by their hash.
    known: HashMap<u64, Vec<u32>>,
    /// Offset of the division that was asked for last.
    last: usize,
}

impl Parts {
    /// Offset of a division in [`Self::flat`]; it is added if it is new. All divisions have the same length.
    ///
    /// # Panics
    /// Beyond 2^32 entries in all, which no fabric has room for.
    pub fn offset(&mut self, division: &[u32]) -> u32 {
        if self.flat[self.last..].starts_with(division) {
            return self.last as u32;
        }
        let mut hasher = DefaultHasher::new();
        division.hash(&mut hasher);
        let places = self.known.entry(hasher.finish()).or_default();
        let known = places.iter().find(|&&place| self.flat[place as usize..].starts_with(division));
        self.last = match known {
            Some(&place) => place as usize,
            None => {
                places.push(u32::try_from(self.flat.len()).expect("tables of a fabric fit into memory"));
                self.flat.extend_from_slice(division);
                self.flat.len() - division.len()
            }
        };
        self.last as u32
    }

    /// All divisions, one after the other.
    #[must_use]
    #[inline(always)]
    pub fn flat(&self) -> &[u32] {
        &self.flat
    }
}
