//! Plans that groups share: each is made once, and kept as long as a group has it.

use crate::tables::Planned;
use anabranch_split::{PlanError, Weights};
use std::collections::HashMap;

/// Origin of a plan: the plan before, by its serial number, and weights.
type Origin = (Option<u64>, Vec<u64>);

/// The plans of one scheme.
pub(crate) struct Plans<S: Planned> {
    parameters: S::Parameters,
    stored: Vec<S::Stored>,
    /// Book of each plan.
    books: Vec<Book>,
    /// Slots of plans that nobody has.
    free: Vec<u32>,
    known: HashMap<Origin, u32>,
    /// Plans ever made. Slots are used again, these numbers are not.
    serial: u64,
}

/// Record of a plan, beside the plan itself.
struct Book {
    origin: Origin,
    serial: u64,
    users: u32,
}

impl<S: Planned> Plans<S> {
    /// The plan of a group that has had no positive weight yet.
    pub(crate) const NONE: u32 = u32::MAX;

    pub(crate) fn new(parameters: S::Parameters) -> Self {
        Self {
            parameters,
            stored: Vec::new(),
            books: Vec::new(),
            free: Vec::new(),
            known: HashMap::new(),
            serial: 0,
        }
    }

    /// The plan as `pick` reads it.
    #[inline(always)]
    pub(crate) fn get(&self, plan: u32) -> &S::Plan {
        self.stored[plan as usize].as_ref()
    }

    /// The plan that follows `old`, which may be [`Self::NONE`], for these weights, for one user more.
    pub(crate) fn make(&mut self, old: u32, weights: &[u64]) -> Result<u32, PlanError> {
        let old = (old != Self::NONE).then_some(old as usize);
        let origin = (old.map(|old| self.books[old].serial), weights.to_vec());
        if let Some(&plan) = self.known.get(&origin) {
            self.books[plan as usize].users += 1;
            return Ok(plan);
        }
        // The limits of every group, whatever plans it.
        Weights::new(weights.to_vec())?;
        let made = S::plan(&self.parameters, weights, old.map(|old| &self.stored[old]))?;
        let book = Book { origin: origin.clone(), serial: self.serial, users: 1 };
        self.serial += 1;
        let plan = match self.free.pop() {
            Some(plan) => {
                self.stored[plan as usize] = made;
                self.books[plan as usize] = book;
                plan
            }
            None => {
                self.stored.push(made);
                self.books.push(book);
                self.stored.len() as u32 - 1
            }
        };
        self.known.insert(origin, plan);
        Ok(plan)
    }

    /// One user more.
    pub(crate) fn share(&mut self, plan: u32) {
        if let Some(book) = self.books.get_mut(plan as usize) {
            book.users += 1;
        }
    }

    /// One user less. The last one's leaving frees the slot.
    pub(crate) fn release(&mut self, plan: u32) {
        let Some(book) = self.books.get_mut(plan as usize) else { return };
        book.users -= 1;
        if book.users == 0 {
            self.known.remove(&book.origin);
            self.free.push(plan);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests {
    use super::*;
    use anabranch_split::picks::Cycle;

    const NONE: u32 = Plans::<Cycle>::NONE;

    #[test]
    fn groups_share_plans_and_the_last_one_to_leave_frees_the_slot() {
        let mut plans = Plans::<Cycle>::new(false);
        let (first, same) = (plans.make(NONE, &[2, 1]).unwrap(), plans.make(NONE, &[2, 1]).unwrap());
        assert_eq!((first, same), (0, 0));
        let heir = plans.make(first, &[1, 1]).unwrap();
        assert_eq!(plans.get(heir).len(), 2);
        plans.release(first);
        assert_eq!(plans.get(same).len(), 3);
        plans.release(same);
        // The slot is used again, and what was made from its last user is not taken for what follows from this one.
        let other = plans.make(NONE, &[5, 1]).unwrap();
        assert_eq!(other, first);
        assert_ne!(plans.make(other, &[1, 1]).unwrap(), heir);
    }

    #[test]
    fn thousands_of_changes_keep_one_plan() {
        let mut plans = Plans::<Cycle>::new(false);
        let mut plan = plans.make(NONE, &[1, 1]).unwrap();
        for weight in 2..2000 {
            let next = plans.make(plan, &[1, weight]).unwrap();
            plans.release(plan);
            plan = next;
        }
        assert_eq!((plans.stored.len(), plans.known.len()), (2, 1));
    }
}
