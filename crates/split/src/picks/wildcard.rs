//! Wildcard rules on the low bits of the hash, the longest match wins: a TCAM as a binary trie.

use super::{Packet, Pick};
use crate::Env;
use core::marker::PhantomData;

/// Value that means no child, or no rule here.
pub const NONE: u16 = u16::MAX;

/// Suffix of the hash. Children prolong it by the next higher bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suffix {
    /// Index of the longer suffix by that bit, or zero for none: the root is never a child.
    pub child: [u32; 2],
    /// Member of the rule that ends here, or [`NONE`].
    pub member: u16,
}

/// Pick from a suffix trie kept in an `S` (`Box<[Suffix]>`, an array); node zero is the empty suffix and has a rule.
pub struct Wildcard<S>(PhantomData<S>);

impl<S: AsRef<[Suffix]>> Pick for Wildcard<S> {
    const NAME: &'static str = "wildcard";
    const NEEDS: u32 = 0;
    type Plan = S;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &S, _state: &mut (), packet: &mut Packet, _env: &mut E) -> u16 {
        let mut hash = packet.hash();
        let mut member = 0;
        let mut node = 0;
        for _ in 0..=u32::BITS {
            let Some(suffix) = plan.as_ref().get(node as usize) else { break };
            if suffix.member != NONE {
                member = suffix.member;
            }
            node = suffix.child[hash as usize & 1];
            if node == 0 {
                break;
            }
            hash >>= 1;
        }
        member
    }
}
