//! Decisions of Wino; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::capability;
use anabranch_split::picks::{FlowCycle, TokenBucket};

/// Label of a packet without a slice.
pub const UNMARKED: u32 = 0;

/// Owner of a rotation over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RoundRobin {
    /// Each flow rotates, from a random slice on.
    #[default]
    Flow,
    /// Each host rotates, over everything that it sends to one leaf.
    Host,
    /// Nothing: each packet draws its slice at random (a mutation).
    Drawn,
}

/// Treatment of a packet that exceeds its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Meter {
    /// Drops the packet, as an OpenFlow meter of type drop does.
    #[default]
    Police,
    /// Lets the packet wait.
    Shape,
    /// Lets the packet pass: slices without limits, a weighted spraying.
    Off,
}

/// Rotation of a flow's packets over the slices of its pair: numbers from zero, in the order of the plan.
pub type FlowMarking<C, M> = FlowCycle<C, M>;

/// Label of slice number `slice`, for [`crate::Packet::tag`].
#[inline(always)]
#[must_use]
pub const fn label(slice: u16) -> u32 {
    slice as u32 + 1
}

/// Slice as the leaf knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Path of the slice.
    pub path: u16,
    /// Meter of the slice, if it needs one.
    pub meter: Option<TokenBucket>,
}

/// Verdict of the leaf on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Forward by other rules: it has no label, or that of no slice.
    Unsliced,
    /// Send by this path now.
    Pass(u16),
    /// Send by this path at this time, in nanoseconds.
    Wait(u16, u64),
    /// Drop: it exceeds its slice.
    Drop,
}

/// Forwards a packet of `bytes` by its label: to the slice's path, if its meter allows. A shaper that already holds
/// back `wait_max_ns` of traffic drops.
#[inline(always)]
pub fn forward(
    slices: &mut [Slice],
    label: u32,
    bytes: u32,
    meter: Meter,
    wait_max_ns: u64,
    now_ns: u64,
) -> Verdict {
    let Some(slice) = label.checked_sub(1).and_then(|slice| slices.get_mut(slice as usize)) else {
        return Verdict::Unsliced;
    };
    let path = slice.path;
    let Some(bucket) = &mut slice.meter else { return Verdict::Pass(path) };
    match meter {
        Meter::Off => Verdict::Pass(path),
        Meter::Police if bucket.admit(bytes, now_ns) => Verdict::Pass(path),
        Meter::Police => Verdict::Drop,
        Meter::Shape if bucket.wait_ns(now_ns) > wait_max_ns => Verdict::Drop,
        Meter::Shape => match bucket.shape(bytes, now_ns) {
            at_ns if at_ns <= now_ns => Verdict::Pass(path),
            at_ns => Verdict::Wait(path, at_ns),
        },
    }
}

/// Parameters of hosts and leaves, besides the slices.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Owner of a rotation over slices.
    pub round_robin: RoundRobin,
    /// Treatment of a packet that exceeds its slice.
    pub meter: Meter,
    /// Largest amount of traffic that a shaper holds back, as the time it will take, in nanoseconds.
    pub wait_max_ns: u64,
    /// Silence after which a flow's turn is forgotten, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            round_robin: RoundRobin::Flow,
            meter: Meter::Police,
            wait_max_ns: 1_000_000,
            idle_ns: 100_000_000,
        }
    }
}

impl Parameters {
    /// Bits of [`capability`] that it needs.
    #[must_use]
    pub const fn needs(&self) -> u32 {
        let random = match self.round_robin {
            RoundRobin::Flow | RoundRobin::Drawn => capability::RANDOM,
            RoundRobin::Host => 0,
        };
        let timer = match self.meter {
            Meter::Shape => capability::TIMER,
            Meter::Police | Meter::Off => 0,
        };
        capability::CLOCK | capability::TAG | random | timer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slices() -> [Slice; 3] {
        [0, 1, 0].map(|path| Slice { path, meter: Some(TokenBucket::new(1_000_000_000, 3000)) })
    }

    #[test]
    fn labels_name_slices_and_slices_paths() {
        let mut slices = slices();
        let mut pass = |label| forward(&mut slices, label, 1500, Meter::Police, 0, 0);
        assert_eq!(pass(UNMARKED), Verdict::Unsliced);
        assert_eq!(pass(label(0)), Verdict::Pass(0));
        assert_eq!(pass(label(1)), Verdict::Pass(1));
        assert_eq!(pass(label(2)), Verdict::Pass(0));
        assert_eq!(pass(label(3)), Verdict::Unsliced);
    }

    #[test]
    fn each_slice_has_a_meter_of_its_own() {
        let mut slices = slices();
        let mut pass = |label, meter| forward(&mut slices, label, 1500, meter, 12_000, 0);
        assert_eq!(pass(label(0), Meter::Police), Verdict::Pass(0));
        assert_eq!(pass(label(0), Meter::Police), Verdict::Pass(0));
        assert_eq!(pass(label(0), Meter::Police), Verdict::Drop);
        assert_eq!(pass(label(0), Meter::Off), Verdict::Pass(0));
        assert_eq!(pass(label(2), Meter::Police), Verdict::Pass(0));
        // 1500 bytes take 12 us: one may wait, and one more while no more than 12 us wait before it.
        assert_eq!(pass(label(0), Meter::Shape), Verdict::Wait(0, 12_000));
        assert_eq!(pass(label(0), Meter::Shape), Verdict::Wait(0, 24_000));
        assert_eq!(pass(label(0), Meter::Shape), Verdict::Drop);
        let mut open = [Slice { path: 3, meter: None }];
        assert_eq!(forward(&mut open, label(0), u32::MAX, Meter::Police, 0, 0), Verdict::Pass(3));
    }
}
