//! Decisions of UGAL; the rule and where it differs from the papers stand on `page.md`.

use crate::valiant::pick::{Detours, MINIMAL, draw};
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Parameters of UGAL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Whether queues of all routers are known, and not only those of the router that decides.
    pub global: bool,
    /// Detours drawn at random, of which the best is compared with the minimal path.
    pub detours: u16,
}

impl Parameters {
    /// UGAL-L with one detour, as in the dragonfly's paper.
    pub const LOCAL: Self = Self { global: false, detours: 1 };
    /// UGAL-G with one detour.
    pub const GLOBAL: Self = Self { global: true, detours: 1 };
}

/// Detours of which some are compared. [`Env::backlog_bytes`] is the backlog of a path's first port, or of all its ports
/// where queues are known globally, as a port of the fabric's fastest rate would have it.
pub trait Compared: Detours {
    /// Parameters of the comparison.
    fn parameters(&self) -> Parameters;
}

/// Pick of the path with the least delay as queues and hops estimate it: the minimal one, or one of the detours drawn.
pub struct Ugal<D: ?Sized>(PhantomData<D>);

impl<D: Compared + ?Sized> Pick for Ugal<D> {
    const NAME: &'static str = "ugal";
    const NEEDS: u32 = capability::BACKLOG | capability::RANDOM;
    type Plan = D;
    type State = ();
    type Feedback = ();

    /// A path of a first port with backlog q and of H hops counts as q H; with global knowledge, as the sum of its
    /// backlogs. The minimal path wins a tie.
    #[inline(always)]
    fn pick<E: Env>(plan: &D, _state: &mut (), _packet: &mut Packet, env: &mut E) -> u16 {
        let Parameters { global, detours } = plan.parameters();
        let estimate = |member: u16, env: &mut E| {
            let factor = if global { 1 } else { plan.hops(member) };
            u64::from(env.backlog_bytes(member)) * u64::from(factor)
        };
        let mut least = if env.up(MINIMAL) { estimate(MINIMAL, env) } else { u64::MAX };
        let mut best = MINIMAL;
        for _ in 0..detours {
            let Some(member) = draw(plan, env) else { break };
            let delay = estimate(member, env);
            if delay < least {
                (least, best) = (delay, member);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Backlogs and hops of the minimal path and of two detours, and which of them live.
    struct Case {
        backlogs: [u32; 3],
        hops: [u32; 3],
        lives: [bool; 3],
    }

    struct Queues<'a>(&'a Case, u32);

    impl Env for Queues<'_> {
        const GIVES: u32 = capability::BACKLOG | capability::RANDOM;

        fn now_ns(&mut self) -> u64 {
            0
        }

        fn random_u32(&mut self) -> u32 {
            self.1 = self.1.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.1
        }

        fn backlog_bytes(&mut self, member: u16) -> u32 {
            self.0.backlogs.get(usize::from(member)).copied().unwrap_or(u32::MAX)
        }

        fn up(&self, member: u16) -> bool {
            self.0.lives.get(usize::from(member)).copied().unwrap_or(false)
        }
    }

    struct Paths<'a>(&'a Case, Parameters);

    impl Detours for Paths<'_> {
        fn intermediates(&self) -> u16 {
            2
        }

        fn member(&self, index: u16) -> u16 {
            1 + index
        }

        fn hops(&self, member: u16) -> u32 {
            self.0.hops.get(usize::from(member)).copied().unwrap_or(u32::MAX)
        }
    }

    impl Compared for Paths<'_> {
        fn parameters(&self) -> Parameters {
            self.1
        }
    }

    /// How often each of the three is picked of a thousand times.
    fn picked(case: &Case, parameters: Parameters) -> [u32; 3] {
        let mut env = Queues(case, 1);
        let mut counts = [0; 3];
        for _ in 0..1000 {
            let member = Ugal::pick(&Paths(case, parameters), &mut (), &mut Packet::default(), &mut env);
            if let Some(count) = counts.get_mut(usize::from(member)) {
                *count += 1;
            }
        }
        counts
    }

    const LIVE: [bool; 3] = [true; 3];

    #[test]
    fn local_queues_count_times_hops_and_sums_by_themselves() {
        // Products 9, 10 and 10: the queues alone would take a detour.
        let case = Case { backlogs: [3, 2, 2], hops: [3, 5, 5], lives: LIVE };
        assert_eq!(picked(&case, Parameters::LOCAL), [1000, 0, 0]);
        let [straight, one, other] = picked(&case, Parameters::GLOBAL);
        assert!(straight == 0 && one > 400 && other > 400, "{one} {other}");
        // Products 12, 10 and 15: half of the draws find the better one, and with many draws all do.
        let case = Case { backlogs: [4, 2, 3], hops: [3, 5, 5], lives: LIVE };
        let [straight, one, other] = picked(&case, Parameters::LOCAL);
        assert!(straight.abs_diff(500) < 80 && one.abs_diff(500) < 80 && other == 0, "{straight} {one}");
        assert_eq!(picked(&case, Parameters { detours: 30, ..Parameters::LOCAL }), [0, 1000, 0]);
    }

    #[test]
    fn ties_go_straight_and_what_is_dead_is_not_taken() {
        let tie = Case { backlogs: [5, 3, 3], hops: [3, 5, 5], lives: LIVE };
        assert_eq!(picked(&tie, Parameters::LOCAL), [1000, 0, 0]);
        let dead = |lives| Case { backlogs: [0, 9, 9], hops: [1, 5, 5], lives };
        // Eight draws of two find the living one but once in 256.
        let [straight, one, other] = picked(&dead([false, true, false]), Parameters::LOCAL);
        assert!(straight < 20 && one > 980 && other == 0, "{straight} {one}");
        assert_eq!(picked(&dead([false; 3]), Parameters::GLOBAL), [1000, 0, 0]);
    }
}
