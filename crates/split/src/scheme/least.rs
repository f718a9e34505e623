//! The least of several backlogs, ties at random.

use crate::{Env, random_below};

/// The least of what is offered, those equal to it each as likely.
#[derive(Clone, Copy, Debug, Default)]
pub struct Least {
    member: u16,
    backlog: u32,
    /// Members offered with this backlog.
    equals: u32,
}

impl Least {
    /// One more member and its backlog.
    #[inline(always)]
    pub fn offer<E: Env>(&mut self, member: u16, backlog: u32, env: &mut E) {
        if self.equals == 0 || backlog < self.backlog {
            *self = Self { member, backlog, equals: 1 };
        } else if backlog == self.backlog {
            self.equals += 1;
            if random_below(env, self.equals) == 0 {
                self.member = member;
            }
        }
    }

    /// The member, if any was offered.
    #[inline(always)]
    #[must_use]
    pub const fn member(self) -> Option<u16> {
        if self.equals == 0 { None } else { Some(self.member) }
    }
}
