//! Table of any length, indexed by `hash % length` without a division.

use super::{Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Reciprocal of a length, for `hash % length`: Lemire, Kaser, Kurz, "Faster remainder by direct computation" (Softw.
/// Pract. Exper. 2019), theorem 1 with F = 64 fraction bits, exact for every 32-bit hash and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reciprocal {
    /// Inverse: ceil(2^64 / length) modulo 2^64. It is zero for a length of one, where the remainder is zero too.
    inverse: u64,
    length: u32,
}

impl Reciprocal {
    /// Makes the reciprocal of `length`; `None` for zero.
    #[must_use]
    pub const fn new(length: u32) -> Option<Self> {
        if length == 0 {
            return None;
        }
        Some(Self { inverse: (u64::MAX / length as u64).wrapping_add(1), length })
    }

    /// Remainder `hash % length`.
    #[inline(always)]
    #[must_use]
    pub const fn remainder(self, hash: u32) -> u32 {
        let fraction = self.inverse.wrapping_mul(hash as u64);
        ((fraction as u128 * self.length as u128) >> 64) as u32
    }
}

/// Entries and the reciprocal of their number.
#[derive(Clone, Debug)]
pub struct ModuloTable<S> {
    reciprocal: Reciprocal,
    entries: S,
}

impl<S: AsRef<[u16]>> ModuloTable<S> {
    /// Makes a table; `None` if it is empty or has more than `u32::MAX` entries.
    #[must_use]
    pub fn new(entries: S) -> Option<Self> {
        let length = u32::try_from(entries.as_ref().len()).ok()?;
        Some(Self { reciprocal: Reciprocal::new(length)?, entries })
    }

    /// Member of each entry.
    #[must_use]
    pub fn entries(&self) -> &[u16] {
        self.entries.as_ref()
    }
}

/// Pick from a slot table of any length, kept in an `S` (`Box<[u16]>`, `[u16; 256]`).
pub struct Modulo<S>(PhantomData<S>);

impl<S: AsRef<[u16]>> Pick for Modulo<S> {
    const NAME: &'static str = "modulo";
    const NEEDS: u32 = 0;
    type Plan = ModuloTable<S>;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &ModuloTable<S>, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        let index = plan.reciprocal.remainder(packet.hash());
        plan.entries.as_ref().get(index as usize).copied().unwrap_or(0)
    }
}
