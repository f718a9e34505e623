//! Intervals: records of ports while a run lasts, and when it ends.

use super::Simulation;
use crate::PortRecord;
use crate::door::SwitchBalancer;
use crate::network::{Network, Role};
use crate::sync::{Mutex, lock};
use std::sync::Arc;

/// A time without any packet.
#[derive(Default)]
pub(super) struct Silence {
    /// Until when there was none; before the present interval's start if there was one.
    until_ps: u64,
    /// Packets that had been sent by the end of the last interval, if none was left then.
    sent: Option<u64>,
}

impl Silence {
    /// Whether there was no packet in the interval that ends now, when so many have been sent and are left. To be asked at
    /// each end.
    fn goes_on(&mut self, (sent, left): (u64, u64)) -> bool {
        let sent = (left == 0).then_some(sent);
        let before = std::mem::replace(&mut self.sent, sent);
        sent.is_some() && sent == before
    }
}

/// Records of ports, interval by interval, that the parts of a fabric write together: memory is that of one thread.
pub(super) type SharedRecords = Arc<Mutex<Vec<PortRecord>>>;

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Ends an interval. While the whole fabric is silent, nothing is written down: such intervals are joined.
    pub(super) fn end_interval(&mut self) {
        let now_ps = self.network.now_ps;
        let in_fabric = (self.network.sent, self.network.packets.len() as u64);
        // What is replayed is no silence, though no packet of it is sent.
        if self.carriage.is_none()
            && self.silence.goes_on(self.part.as_ref().map_or(in_fabric, |part| part.whole))
        {
            self.silence.until_ps = now_ps;
            return;
        }
        self.end_silence();
        let first = self.port_records.len();
        let records = self.take_interval();
        self.write_down(records);
        self.count_replayed(first);
        self.interval_start_ps = now_ps;
    }

    /// Counts of ports since the interval's start, or since the last call.
    pub(super) fn take_interval(&mut self) -> Vec<PortRecord> {
        let now_ps = self.network.now_ps;
        self.network.complete_all();
        let mut records = Vec::with_capacity(self.network.ports.len());
        for (index, port) in (0..).zip(&mut self.network.ports) {
            records.push(port.end_interval(index, self.interval_start_ps, now_ps));
        }
        if let Some(cards) = &mut self.network.cards {
            for (host, &port) in (0..).zip(self.hosts.port_of()) {
                records[port as usize].backlog_byte_ps += cards.end_interval(host, now_ps);
                self.network.ports[port as usize].note_waiting(now_ps, cards.waiting_bytes(host));
            }
        }
        self.network.end_classed_interval(&mut records);
        records
    }

    /// Writes down the records of all ports in an interval, or of those of this part.
    fn write_down(&mut self, records: Vec<PortRecord>) {
        if let Some(part) = &mut self.part {
            write_part(&part.records, part.intervals, &records, &self.network);
            part.intervals += 1;
        } else if self.port_records.is_empty() {
            // The only interval of many runs, and a large one on large fabrics.
            self.port_records = records;
        } else {
            self.port_records.extend(records);
        }
    }

    /// Writes down one interval for the silence before the present interval, if there was one.
    fn end_silence(&mut self) {
        let (start_ps, until_ps) = (self.interval_start_ps, self.silence.until_ps);
        if until_ps <= start_ps {
            return;
        }
        let ports = 0..self.network.ports.len() as u32;
        let silent =
            |port| PortRecord { port, start_ps, length_ps: until_ps - start_ps, ..PortRecord::default() };
        self.write_down(ports.map(silent).collect());
        self.interval_start_ps = until_ps;
    }

    /// Adds to the last records what was counted since, in the picosecond in which their interval ended: drops and losses,
    /// for a frame that begins then is one of the next interval.
    fn add_last_instant(&mut self) {
        let now_ps = self.network.now_ps;
        self.network.complete_all();
        let mut since: Vec<PortRecord> = (0..)
            .zip(&mut self.network.ports)
            .map(|(index, port)| port.end_interval(index, now_ps, now_ps))
            .collect();
        self.network.end_classed_interval(&mut since);
        let add = |records: &mut [PortRecord]| {
            let last = records.len() - since.len();
            for (record, since) in records[last..].iter_mut().zip(&since) {
                record.dropped_packets += since.dropped_packets;
                record.lost_packets += since.lost_packets;
                record.marked_packets += since.marked_packets;
                record.trimmed_packets += since.trimmed_packets;
                record.pauses_sent += since.pauses_sent;
                record.backlog_max_bytes = record.backlog_max_bytes.max(since.backlog_max_bytes);
            }
        };
        match &self.part {
            Some(part) => add(&mut lock(&part.records)),
            None => add(&mut self.port_records),
        }
    }

    /// Writes down what is left to be when a run is over.
    pub(super) fn end_records(&mut self) {
        let last_ps = self.interval_start_ps.max(self.silence.until_ps);
        let is_first = self.part.as_ref().map_or(self.port_records.is_empty(), |part| part.intervals == 0);
        if self.network.now_ps > last_ps || is_first {
            self.end_interval();
            self.end_silence();
        } else {
            self.end_silence();
            self.add_last_instant();
        }
        self.hosts.attend(&mut self.network);
        self.hosts.finish();
    }
}

/// Writes down the records of a part's ports in an interval, by its number. What a link lost that crosses, the part at its
/// other end knows.
fn write_part(shared: &Mutex<Vec<PortRecord>>, interval: usize, records: &[PortRecord], network: &Network) {
    let mut shared = lock(shared);
    let first = interval * records.len();
    if shared.len() == first {
        shared.resize(first + records.len(), PortRecord::default());
    }
    for (slot, record) in shared[first..].iter_mut().zip(records) {
        let lost_packets = slot.lost_packets + record.lost_packets;
        match network.role_at(record.port) {
            Role::Sender => *slot = PortRecord { lost_packets, ..*record },
            Role::Receiver => slot.lost_packets = lost_packets,
            Role::Stranger => {}
        }
    }
}
