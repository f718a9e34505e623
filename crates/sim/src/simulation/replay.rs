//! Ports while messages are replayed: they are counted as they were while such messages were carried.
//!
//! From the moment when nothing replayed is under way until messages are replayed, ports carry a number of bytes of
//! messages. For each byte that is replayed later, each port counts what it counted then for each byte.

use super::Simulation;
use crate::PortRecord;
use crate::door::SwitchBalancer;
use crate::hosts::Phase;

/// Counts of ports while messages are carried.
pub(super) struct Carriage {
    /// Whether all that is under way is carried.
    counts: bool,
    /// Counts of ports in this phase, and in the last one that is over, with the payload of messages that was
    /// carried meanwhile.
    present: Vec<PortRecord>,
    present_bytes: u64,
    /// Payload of the messages that were under way when this phase began that had been carried before.
    ahead_bytes: u64,
    last: Vec<PortRecord>,
    last_bytes: u64,
    /// Counts of ports since the interval's start, before the last cut.
    before: Vec<PortRecord>,
    /// Payload that was replayed and is not counted at ports yet.
    replayed_bytes: u64,
}

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Follows what begins in replay, if anything has.
    pub(super) fn follow_phases(&mut self) {
        let Some(phase) = self.hosts.take_phase() else { return };
        let records = self.take_interval();
        let Some(mut carriage) = self.carriage.take() else { return };
        carriage.count(&records, self.hosts.take_delivered());
        carriage.begin(phase, self.hosts.carried_ahead_bytes(self.network.now_ps));
        add(&mut carriage.before, &records);
        self.carriage = Some(carriage);
    }

    /// Adds to the records of an interval what was taken from it before, and what replay leaves out.
    pub(super) fn count_replayed(&mut self, first: usize) {
        let Some(mut carriage) = self.carriage.take() else { return };
        let records = &mut self.port_records[first..];
        carriage.count(records, self.hosts.take_delivered());
        for (record, before) in records.iter_mut().zip(std::mem::take(&mut carriage.before)) {
            add_part(record, &before, (1, 1));
        }
        if carriage.last_bytes > 0 {
            let part = (std::mem::take(&mut carriage.replayed_bytes), carriage.last_bytes);
            for (record, carried) in records.iter_mut().zip(&carriage.last) {
                add_part(record, carried, part);
                record.busy_ps = record.busy_ps.min(record.length_ps);
            }
        }
        self.carriage = Some(carriage);
    }
}

impl Default for Carriage {
    fn default() -> Self {
        let none = Vec::new;
        Self {
            counts: true,
            present: none(),
            present_bytes: 0,
            ahead_bytes: 0,
            last: none(),
            last_bytes: 0,
            before: none(),
            replayed_bytes: 0,
        }
    }
}

impl Carriage {
    /// Ports have counted this, and so much payload was delivered: carried, and replayed.
    fn count(&mut self, records: &[PortRecord], [carried_bytes, replayed_bytes]: [u64; 2]) {
        self.replayed_bytes += replayed_bytes;
        if self.counts {
            add(&mut self.present, records);
            self.present_bytes += carried_bytes;
        }
    }

    /// A phase begins, when so much payload has been carried of messages that are under way.
    fn begin(&mut self, phase: Phase, ahead_bytes: u64) {
        let bytes = (self.present_bytes + ahead_bytes).saturating_sub(self.ahead_bytes);
        if self.counts && bytes > 0 {
            self.last = std::mem::take(&mut self.present);
            self.last_bytes = bytes;
        }
        self.present.clear();
        self.present_bytes = 0;
        self.ahead_bytes = ahead_bytes;
        self.counts = phase == Phase::Carried;
    }
}

/// Adds the counts of some records, port by port.
fn add(sums: &mut Vec<PortRecord>, records: &[PortRecord]) {
    if sums.is_empty() {
        sums.extend_from_slice(records);
    } else {
        sums.iter_mut().zip(records).for_each(|(sum, record)| add_part(sum, record, (1, 1)));
    }
}

/// Adds a part of a port's counts, as a fraction, to others; their interval stays as it is.
fn add_part(to: &mut PortRecord, from: &PortRecord, (numerator, denominator): (u64, u64)) {
    let part = |count: u128| count * u128::from(numerator) / u128::from(denominator);
    let counts: [(&mut u64, u64); 9] = [
        (&mut to.sent_bytes, from.sent_bytes),
        (&mut to.sent_packets, from.sent_packets),
        (&mut to.dropped_packets, from.dropped_packets),
        (&mut to.lost_packets, from.lost_packets),
        (&mut to.marked_packets, from.marked_packets),
        (&mut to.trimmed_packets, from.trimmed_packets),
        (&mut to.pauses_sent, from.pauses_sent),
        (&mut to.paused_ps, from.paused_ps),
        (&mut to.busy_ps, from.busy_ps),
    ];
    for (to, from) in counts {
        *to += part(from.into()) as u64;
    }
    to.backlog_byte_ps += part(from.backlog_byte_ps);
    to.backlog_max_bytes = to.backlog_max_bytes.max(from.backlog_max_bytes);
}
