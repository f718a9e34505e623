//! The least of what is offered, one at random of equals.

use crate::{Env, random_below};

/// The member with the least key so far.
#[derive(Clone, Copy, Debug)]
pub struct Least<K> {
    best: Option<(K, u16)>,
    equals: u32,
}

impl<K> Default for Least<K> {
    fn default() -> Self {
        Self { best: None, equals: 0 }
    }
}

impl<K: Ord> Least<K> {
    /// One more member. The k-th of equals replaces the one kept with probability 1/k, so that each is as likely.
    #[inline(always)]
    pub fn offer<E: Env>(&mut self, key: K, member: u16, env: &mut E) {
        match &mut self.best {
            Some((least, kept)) if key == *least => {
                self.equals += 1;
                if random_below(env, self.equals) == 0 {
                    *kept = member;
                }
            }
            Some((least, _)) if key > *least => {}
            best => {
                *best = Some((key, member));
                self.equals = 1;
            }
        }
    }

    /// The member, if any was offered.
    #[inline(always)]
    #[must_use]
    pub fn member(&self) -> Option<u16> {
        self.best.as_ref().map(|&(_, member)| member)
    }
}
