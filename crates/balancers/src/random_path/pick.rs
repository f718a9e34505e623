//! Decisions of random paths; the rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability, random_below};
use core::marker::PhantomData;

/// Pick of one of the living paths, all equally likely.
pub struct RandomPath<P: ?Sized>(PhantomData<P>);

impl<P: Paths + ?Sized> Pick for RandomPath<P> {
    const NAME: &'static str = "random-path";
    const NEEDS: u32 = capability::RANDOM;
    /// Living paths.
    type Plan = P;
    type State = ();
    type Feedback = ();

    /// A path whose first port is dead though routing has not heard of it is none.
    #[inline(always)]
    fn pick<E: Env>(plan: &P, _state: &mut (), packet: &mut Packet, env: &mut E) -> u16 {
        let living = plan.living(packet.destination);
        let leading = living.iter().filter(|&&path| env.up(path)).count();
        let drawn = random_below(env, leading as u32) as usize;
        living.iter().filter(|&&path| env.up(path)).nth(drawn).copied().unwrap_or(0)
    }
}
