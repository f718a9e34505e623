//! Decisions of blank-scheme; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::Env;
use anabranch_split::picks::{Packet, Pick};

/// Pick of the first member that may be used, whatever the packet.
pub struct BlankScheme;

/// Parameters of blank-scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {}

impl Pick for BlankScheme {
    const NAME: &'static str = "blank-scheme";
    /// Nothing: a clock, random numbers and the like are bits of [`anabranch_split::capability`].
    const NEEDS: u32 = 0;
    /// Weights of the members; one of weight zero may not be used.
    type Plan = [u64];
    type State = ();
    type Feedback = ();

    #[inline(always)]
    fn pick<E: Env>(plan: &[u64], _state: &mut (), _packet: &mut Packet, _env: &mut E) -> u16 {
        plan.iter().position(|&weight| weight > 0).unwrap_or(0) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Switch(u32);

    impl Env for Switch {
        const GIVES: u32 = anabranch_split::capability::KERNEL;

        fn now_ns(&mut self) -> u64 {
            self.0.into()
        }

        fn random_u32(&mut self) -> u32 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            self.0
        }
    }

    #[test]
    fn the_rule_is_filled_in() {
        let mut env = Switch(1);
        let mut picked = [0u32; 2];
        for flow in 0..1000u64 {
            let flow = flow.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
            let mut packet = Packet { flow, bytes: 1518, ..Packet::default() };
            let member = BlankScheme::pick(&[1, 1], &mut (), &mut packet, &mut env);
            picked[usize::from(member)] += 1;
        }
        assert!(
            picked[0] > 0 && picked[1] > 0,
            "every packet took the same of two equal members: write the rule into `pick` and what it \
             needs into `NEEDS`, parameters into `Parameters`, the rest of `page.md`; then put examples \
             that you worked out by hand in place of this test"
        );
    }
}
