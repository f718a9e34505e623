//! HyStart as Linux has it (Ha and Rhee, "Taming the elephants", 2011): slow start ends when acknowledgements of one
//! round come in a train as long as half a round trip, or when the round trip begins to grow.

use super::acked::Acked;

/// Windows below so many segments are not tested.
const WINDOW_MIN: u64 = 16;
/// Round trips looked at in each round.
const SAMPLES: u32 = 8;
/// Bounds of what counts as growth.
const GROWTH_MIN_PS: u64 = 4_000_000_000;
const GROWTH_MAX_PS: u64 = 16_000_000_000;
/// Acknowledgements farther apart than this are no train.
const TRAIN_GAP_PS: u64 = 2_000_000_000;
/// Time that receivers and segmentation offload may add to a train: that of four of the largest bursts at the
/// rate of slow start, two windows a round trip, and at most this.
const BURST_BYTES: u64 = 4 * 65_536;
const BURST_MAX_PS: u64 = 1_000_000_000;

/// The round being looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hystart {
    round_end: u64,
    round_start_ps: u64,
    /// When the train's last acknowledgement came.
    train_ps: u64,
    least_ps: u64,
    samples: u32,
}

impl Hystart {
    pub(super) const NEW: Self =
        Self { round_end: 0, round_start_ps: 0, train_ps: 0, least_ps: u64::MAX, samples: 0 };

    /// An acknowledgement in slow start that measures a round trip. Whether slow start should end.
    pub(super) fn observe(&mut self, acked: &Acked, rtt_ps: u64, window: u64, segment: u64) -> bool {
        let Acked { now_ps, least_rtt_ps, .. } = *acked;
        if acked.una > self.round_end {
            *self = Self { round_end: acked.next, round_start_ps: now_ps, train_ps: now_ps, ..Self::NEW };
        }
        if window < WINDOW_MIN * segment {
            return false;
        }
        self.is_train(now_ps, least_rtt_ps, rtt_ps, window) | self.grows(rtt_ps, least_rtt_ps)
    }

    fn is_train(&mut self, now_ps: u64, least_rtt_ps: u64, rtt_ps: u64, window: u64) -> bool {
        if now_ps - self.train_ps > TRAIN_GAP_PS {
            return false;
        }
        self.train_ps = now_ps;
        let burst_ps = u128::from(BURST_BYTES) * u128::from(rtt_ps) / u128::from(2 * window);
        let burst_ps = burst_ps.min(u128::from(BURST_MAX_PS)) as u64;
        now_ps - self.round_start_ps > (least_rtt_ps + burst_ps) / 2
    }

    fn grows(&mut self, rtt_ps: u64, least_rtt_ps: u64) -> bool {
        self.least_ps = self.least_ps.min(rtt_ps);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        self.least_ps > least_rtt_ps + (least_rtt_ps / 8).clamp(GROWTH_MIN_PS, GROWTH_MAX_PS)
    }
}
