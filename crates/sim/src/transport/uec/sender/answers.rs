//! What answers say of packets that were sent.

use super::{Sent, State, UecSender};
use crate::transport::control::{Answer, Trim};
use crate::{Packet, marks};

impl UecSender {
    pub(super) fn acknowledge(&mut self, packet: &Packet, now_ps: u64) {
        let arrivals = packet.arrivals();
        // An acknowledgement that was overtaken says nothing new.
        let newly = arrivals.frame_bytes.wrapping_sub(self.arrived_bytes) as i32;
        let bytes = newly.max(0) as u64;
        self.arrived_bytes = self.arrived_bytes.wrapping_add(bytes as u32);
        self.in_flight -= bytes as i64;
        let echoes_again = packet.marks & marks::RETRANSMITTED != 0;
        let cause = self.of(arrivals.cause.into()).copied();
        if let Some(sent) = cause.filter(|sent| !echoes_again && is_called_lost(sent)) {
            self.least_rto_ps = self.least_rto_ps.max((now_ps - sent.first_ps).saturating_mul(2));
        }
        let rtt_ps = cause
            .filter(|sent| sent.state == State::InFlight && sent.again == u32::from(echoes_again))
            .map(|sent| now_ps - sent.at_ps);
        self.rtt_ps = rtt_ps.unwrap_or(self.rtt_ps);
        let expected = packet.seq.div_ceil(self.payload_bytes);
        while self.first < expected {
            self.arrived(self.first);
            self.sent.pop_front();
            self.first += 1;
        }
        let mut bits = arrivals.bits;
        while bits != 0 {
            self.arrived(u64::from(arrivals.base) + u64::from(bits.trailing_zeros()));
            bits &= bits - 1;
        }
        let next = self.sent_before + (self.first + self.sent.len() as u64) * self.payload_bytes;
        self.law.on_ack(&Answer {
            now_ps,
            bytes,
            marked: packet.marks & marks::ECHO != 0,
            rtt_ps,
            una: self.sent_before + self.first * self.payload_bytes,
            next,
            in_flight_bytes: self.in_flight.max(0) as u64,
            hops: &[],
        });
    }

    fn arrived(&mut self, number: u64) {
        let Some(sent) = self.of(number) else { return };
        let before = std::mem::replace(&mut sent.state, State::Arrived);
        let frame_bytes = i64::from(sent.frame_bytes);
        if before == State::Missing {
            // It was taken off when it was believed lost, and again by the receiver's sum.
            self.missing.remove(&number);
            self.missing_bytes -= frame_bytes as u64;
            self.in_flight += frame_bytes;
        }
    }

    /// Only its header arrived.
    pub(super) fn trimmed(&mut self, packet: &Packet, now_ps: u64) {
        let number = packet.seq / self.payload_bytes;
        let Some(sent) = self.of(number).filter(|sent| sent.state == State::InFlight) else { return };
        let (rtt_ps, bytes) = (now_ps - sent.at_ps, u64::from(sent.frame_bytes));
        let in_flight_bytes = self.in_flight.max(0) as u64;
        let elsewhere = self.credit.is_some() && packet.trimmed_last();
        self.law.on_trim(&Trim { now_ps, bytes, rtt_ps, in_flight_bytes, elsewhere });
        self.lose(number);
    }

    /// It is to be sent again. Bytes of its frame.
    pub(super) fn lose(&mut self, number: u64) -> u64 {
        let Some(sent) = self.of(number) else { return 0 };
        sent.state = State::Missing;
        let frame_bytes = sent.frame_bytes;
        self.in_flight -= i64::from(frame_bytes);
        self.missing.insert(number);
        self.missing_bytes += u64::from(frame_bytes);
        frame_bytes.into()
    }
}

/// Whether a packet has timed out since it was sent for the first time. If that first one arrives all the same, the timeout is
/// shorter than the queue: each packet would be sent again, which lengthens the queue, and no round trip would be measured,
/// since answers to what was sent twice measure none.
fn is_called_lost(sent: &Sent) -> bool {
    sent.state == State::Missing || sent.state == State::InFlight && sent.again > 0
}
