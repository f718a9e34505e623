//! Changes of a port: it dies, returns, loses frames, or sends at another rate.

use super::{EgressPort, began_ps};
use crate::slab::PacketId;
use anabranch_fabric::{Rate, Serialization};

impl EgressPort {
    /// Kills the port: everything on the link and in the queue is lost. Returns it.
    pub(crate) fn go_down(&mut self, now_ps: u64) -> Vec<PacketId> {
        let unsent = self.take_unsent(now_ps);
        self.sent_bytes -= unsent.bytes;
        self.first_sent = self.first_sent.wrapping_add(unsent.packets);
        self.backlog_byte_ps -= unsent.backlog_byte_ps;
        let mut lost = Vec::new();
        while self.head != self.tail {
            lost.push(self.ring.at(self.head).packet);
            self.head = self.head.wrapping_add(1);
        }
        self.lost_packets += lost.len() as u64;
        self.serving = self.head;
        self.backlog_bytes = 0;
        self.backlog_packets = 0;
        self.busy_ps -= self.free_ps.saturating_sub(now_ps);
        self.free_ps = now_ps;
        self.faults().down = true;
        self.settle();
        lost
    }

    pub(crate) fn go_up(&mut self) {
        self.faults().down = false;
        self.settle();
    }

    pub(crate) fn is_up(&self) -> bool {
        !self.faults.as_ref().is_some_and(|faults| faults.down)
    }

    /// Probability with which the link loses each frame.
    pub(crate) fn set_loss(&mut self, loss: f64) {
        self.faults().loss = loss;
        self.settle();
    }

    /// Sends at another rate from now on. The rest of the frame in service takes its old share of the new time;
    /// waiting frames are timed anew, with their lags. Returns when the next packet arrives.
    pub(crate) fn set_rate(&mut self, now_ps: u64, rate: Rate) -> Option<u64> {
        self.advance(now_ps);
        self.rate_bps = rate.bps();
        let old = self.serialization;
        self.serialization = old.at(rate);
        let mut last_ps = self.end_lags(now_ps, old);
        let mut free_ps = now_ps;
        let mut index = self.serving;
        while index != self.tail {
            let accepted = self.ring.at(index);
            let lag_bytes = accepted.lag_bytes.into();
            let wire_bytes = u32::from(accepted.frame_bytes) + u32::from(self.gap_bytes);
            let end_ps = accepted.arrive_ps - self.delay_ps - old.frame_ps(lag_bytes);
            let (before_ps, after_ps) = (old.frame_ps(wire_bytes), self.serialization.frame_ps(wire_bytes));
            let began_ps = began_ps(self.retimed, index, end_ps, before_ps);
            let left_ps = if began_ps < now_ps {
                self.retimed = Some((index, began_ps));
                (u128::from(end_ps - now_ps) * u128::from(after_ps)).div_ceil(u128::from(before_ps)) as u64
            } else {
                after_ps
            };
            free_ps += left_ps;
            self.backlog_byte_ps += u128::from(accepted.frame_bytes) * u128::from(free_ps - now_ps);
            self.backlog_byte_ps -= u128::from(accepted.frame_bytes) * u128::from(end_ps - now_ps);
            let prompt_ps = free_ps + self.delay_ps;
            let mut late = (prompt_ps + self.serialization.frame_ps(lag_bytes), accepted.lag_bytes);
            if late.0 < last_ps {
                late = self.late_until(prompt_ps, last_ps);
            }
            let accepted = self.ring.at_mut(index);
            (accepted.arrive_ps, accepted.lag_bytes) = late;
            last_ps = accepted.arrive_ps;
            index = index.wrapping_add(1);
        }
        // What is left takes its new time.
        self.busy_ps = self.busy_ps - self.free_ps.saturating_sub(now_ps) + (free_ps - now_ps);
        self.free_ps = free_ps;
        (self.head != self.tail).then(|| self.ring.at(self.head).arrive_ps)
    }

    /// Ends the lags of frames that are sent: their measure is the old rate's. Returns when the last of them arrives.
    fn end_lags(&mut self, now_ps: u64, old: Serialization) -> u64 {
        let mut last_ps = 0;
        let mut index = self.head;
        while index != self.serving {
            let accepted = self.ring.at_mut(index);
            if accepted.lag_bytes > 0 {
                accepted.arrive_ps =
                    (accepted.arrive_ps - old.frame_ps(accepted.lag_bytes.into())).max(now_ps).max(last_ps);
                accepted.lag_bytes = 0;
            }
            last_ps = accepted.arrive_ps;
            index = index.wrapping_add(1);
        }
        last_ps
    }
}
