//! Least of several members, by backlog or another key; ties at random.

use crate::{Env, random_below};

/// Least member offered so far; those equal to it are equally likely.
#[derive(Clone, Copy, Debug, Default)]
pub struct Least<K = u32> {
    member: u16,
    key: K,
    /// Number of members offered with this key.
    equals: u32,
}

impl<K: Copy + PartialOrd> Least<K> {
    /// Offers one more member and the key it is compared by.
    #[inline(always)]
    pub fn offer<E: Env>(&mut self, member: u16, key: K, env: &mut E) {
        if self.equals == 0 || key < self.key {
            *self = Self { member, key, equals: 1 };
        } else if key == self.key {
            self.equals += 1;
            if random_below(env, self.equals) == 0 {
                self.member = member;
            }
        }
    }

    /// Least member, if any was offered.
    #[inline(always)]
    #[must_use]
    pub const fn member(self) -> Option<u16> {
        if self.equals == 0 { None } else { Some(self.member) }
    }
}
