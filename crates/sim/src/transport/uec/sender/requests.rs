//! What a sender tells its receiver about credit: with each packet what it wants, and by a request if nothing else goes.

use super::{Backlog, DOUBLINGS, UecSender};
use crate::transport::Host;
use crate::transport::uec::Uec;
use crate::{Framing, Kind, Packet, marks};

impl UecSender {
    /// Whether credit lets a packet go.
    pub(super) fn has_credit(&self) -> bool {
        self.credit.is_none_or(|credit| credit.allows())
    }

    /// Pays for a packet that goes, and says what the receiver is to have granted. `None` without credits.
    pub(super) fn pay<H: Host>(&mut self, frame_bytes: u16, framing: Framing, host: &mut H) -> Option<u64> {
        self.credit.as_mut()?.spend(frame_bytes);
        self.demand(framing, host)
    }

    fn demand<H: Host>(&self, framing: Framing, host: &mut H) -> Option<u64> {
        let frame = |bytes: u64| u64::from(framing.frame_bytes(bytes as u16));
        let fresh = self.first + self.sent.len() as u64;
        let unsent = self.packets - fresh;
        let last_bytes = self.size_bytes - self.packets.saturating_sub(1) * self.payload_bytes;
        let waits = Backlog {
            fresh: if unsent == 0 { 0 } else { (unsent - 1) * frame(self.payload_bytes) + frame(last_bytes) },
            missing: self.missing_bytes,
            frame: frame(self.payload_bytes),
            window: self.law.window_bytes(),
            contenders: host.contenders(),
        };
        self.credit.as_ref().map(|credit| credit.demand(&waits))
    }

    /// Whether packets wait for credit alone.
    fn starves(&self) -> bool {
        let unsent = self.first + (self.sent.len() as u64) < self.packets;
        !self.has_credit() && (unsent || !self.missing.is_empty())
    }

    /// When a sender without credit and without packets in flight asks for some: the receiver knows what it wants, so only
    /// a grant that was lost, or a request, can be the cause; a receiver of many senders takes long.
    pub(super) fn request_due_ps(&self, uec: &Uec) -> u64 {
        match &self.credit {
            Some(credit) if self.starves() => {
                let doublings = if credit.awaits_answer() { self.silent.min(DOUBLINGS) } else { DOUBLINGS };
                let wait_ps = uec.rto_ps.saturating_mul(1 << doublings).max(uec.rtt_ps);
                credit.silent_since_ps().saturating_add(wait_ps)
            }
            _ => u64::MAX,
        }
    }

    /// Asks for credit if packets timed out and wait for it, or if too long nothing came (`uet-htsim`, `rtxTimerExpired` and
    /// `sendRTS`, where the request takes a packet's number and names what the last packet named).
    pub(super) fn request<H: Host>(&mut self, uec: &Uec, framing: Framing, timed_out: bool, host: &mut H) {
        let now_ps = host.now_ps();
        let silent = !timed_out && self.oldest().is_none() && self.request_due_ps(uec) <= now_ps;
        if !self.starves() || !timed_out && !silent {
            return;
        }
        let Some(demand) = self.demand(framing, host) else { return };
        let Some(credit) = self.credit.as_mut().filter(|credit| credit.may_ask(now_ps, uec.rtt_ps)) else {
            return;
        };
        credit.ask(now_ps);
        self.silent += u32::from(silent);
        let mut packet = Packet {
            stamp_ns: (now_ps / 1000) as u32,
            frame_bytes: uec.answer_bytes,
            kind: Kind::Request,
            marks: marks::CAPABLE,
            ..Packet::default()
        };
        packet.set_demand(demand);
        host.send(packet);
        self.set_alarm(uec, host);
    }
}
