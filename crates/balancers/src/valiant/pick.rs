//! Decisions of Valiant's routing; the rule and where it differs from the papers stand on `page.md`.

use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// The minimal path, as a member.
pub const MINIMAL: u16 = 0;

/// Draws after which a router whose detours are dead takes the minimal path.
const DRAWS: u32 = 8;

/// The paths of a packet at its first router: [`MINIMAL`], and one by each intermediate group.
pub trait Detours {
    /// Number of intermediate groups: all but those of the packet's first and last router.
    fn intermediates(&self) -> u16;

    /// Member that leads by intermediate group number `index`, counted from zero.
    fn member(&self, index: u16) -> u16;

    /// Number of links between routers on the path that `member` is.
    fn hops(&self, member: u16) -> u32;
}

/// A living detour, all of them equally likely; nothing if there is none, or if each of a few draws is dead.
#[inline(always)]
pub fn draw<D: Detours + ?Sized, E: Env>(detours: &D, env: &mut E) -> Option<u16> {
    let intermediates = detours.intermediates();
    if intermediates == 0 {
        return None;
    }
    for _ in 0..DRAWS {
        let member = detours.member(random_below(env, intermediates.into()) as u16);
        if env.up(member) {
            return Some(member);
        }
    }
    None
}

/// Pick of a detour at random.
pub struct Valiant<D: ?Sized>(PhantomData<D>);

impl<D: Detours + ?Sized> Pick for Valiant<D> {
    const NAME: &'static str = "valiant";
    const NEEDS: u32 = capability::RANDOM;
    type Plan = D;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &D, _state: &mut (), _packet: &mut Packet, env: &mut E) -> u16 {
        draw(plan, env).unwrap_or(MINIMAL)
    }
}
