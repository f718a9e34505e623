//! Names that a part of the fabric gives to connections. Slots go round among the parts, so that no two give the same name
//! and none asks another.

use crate::SimulationError;
use crate::connections::{LAST_GENERATION, SLOT_BITS};

/// Names of one part: its slots, which are used again, with their generation above.
#[derive(Default)]
pub(super) struct Names {
    part: u32,
    parts: u32,
    /// Next name of each slot.
    next: Vec<u32>,
    free: Vec<u32>,
}

impl Names {
    /// Names of one of so many parts, none of which is given.
    pub(super) fn new(part: u32, parts: u32) -> Self {
        Self { part, parts, ..Self::default() }
    }

    /// A name that no connection has had.
    ///
    /// # Errors
    /// No name is left.
    pub(super) fn take(&mut self) -> Result<u32, SimulationError> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None => {
                let slot = self.next.len() as u64 * u64::from(self.parts) + u64::from(self.part);
                if slot >> SLOT_BITS != 0 {
                    return Err(SimulationError::new(
                        "traffic: no name is left for another connection",
                        "lower the load or the number of flows: a run has 4,294,967,296 names",
                    ));
                }
                self.next.push(slot as u32);
                self.next.len() - 1
            }
        };
        let name = self.next[index];
        self.next[index] = name.wrapping_add(1 << SLOT_BITS);
        Ok(name)
    }

    /// Frees the slot of a name that was given here, unless it was the slot's last.
    pub(super) fn free(&mut self, name: u32) {
        let slot = name & ((1 << SLOT_BITS) - 1);
        if slot % self.parts == self.part && name >> SLOT_BITS != LAST_GENERATION {
            self.free.push(slot / self.parts);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail.
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Parts give no name twice, one takes no slot of another, and a slot that is free is used again.
    #[test]
    fn no_name_is_given_twice() {
        let mut parts: Vec<Names> = (0..3).map(|part| Names::new(part, 3)).collect();
        let mut given = BTreeSet::new();
        for round in 0..600 {
            let names: Vec<u32> = parts.iter_mut().map(|part| part.take().unwrap()).collect();
            for (number, &name) in (0..).zip(&names) {
                assert!(given.insert(name) && name % 3 == number % 3 || name >> SLOT_BITS > 0);
                // All hear of it.
                if round % 2 == 0 {
                    parts.iter_mut().for_each(|part| part.free(name));
                }
            }
        }
        let slots: BTreeSet<u32> = given.iter().map(|name| name & ((1 << SLOT_BITS) - 1)).collect();
        assert_eq!((given.len(), slots.len() < 1000), (1800, true));
    }
}
