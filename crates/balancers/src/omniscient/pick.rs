//! Decisions of the omniscient yardstick; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::least::Least;
use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::{Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Pick of the path with the least backlog of all living ones, as the environment reports it at the moment of the
/// decision.
pub struct Omniscient<P: ?Sized>(PhantomData<P>);

impl<P: Paths + ?Sized> Pick for Omniscient<P> {
    const NAME: &'static str = "omniscient";
    const NEEDS: u32 = capability::BACKLOG | capability::RANDOM;
    /// Living paths; [`Env::backlog_bytes`] is the sum over all ports of a path to the packet's destination.
    type Plan = P;
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &P, _state: &mut (), packet: &mut Packet, env: &mut E) -> u16 {
        let mut least = Least::default();
        for &path in plan.living(packet.destination) {
            if env.up(path) {
                let backlog = env.backlog_bytes(path);
                least.offer(path, backlog, env);
            }
        }
        least.member().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Queues([u32; 6], u32);

    impl Env for Queues {
        const GIVES: u32 = capability::BACKLOG | capability::RANDOM;

        fn now_ns(&mut self) -> u64 {
            0
        }

        fn random_u32(&mut self) -> u32 {
            self.1 = self.1.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.1
        }

        fn backlog_bytes(&mut self, member: u16) -> u32 {
            self.0.get(usize::from(member)).copied().unwrap_or(u32::MAX)
        }
    }

    #[test]
    fn the_least_backlog_of_the_living_wins_and_equals_share() {
        let mut env = Queues([7, 0, 3, 3, 9, 3], 1);
        let living: [&[u16]; 2] = [&[0, 1, 2], &[0, 2, 3, 4, 5]];
        let mut packet = Packet { destination: 0, ..Packet::default() };
        assert_eq!(Omniscient::pick(&living, &mut (), &mut packet, &mut env), 1);
        packet.destination = 1;
        let mut counts = [0u32; 6];
        for _ in 0..30_000 {
            let path = Omniscient::pick(&living, &mut (), &mut packet, &mut env);
            if let Some(count) = counts.get_mut(usize::from(path)) {
                *count += 1;
            }
        }
        let [a, b, c, d, e, f] = counts;
        assert_eq!((a, b, e), (0, 0, 0), "only the shortest are chosen");
        // Binomial with n = 30,000 and p = 1/3: a standard deviation is 82.
        for count in [c, d, f] {
            assert!(count.abs_diff(10_000) < 410, "{counts:?}");
        }
    }
}
