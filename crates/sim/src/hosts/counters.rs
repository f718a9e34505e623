//! Counters of flows that have not ended: at the end of the simulation, and when received payload begins to count.

use super::Hosts;
use crate::connections::{Connection, Connections};

impl Hosts {
    /// Connections with a flow of their own that has not ended.
    fn in_use(connections: &Connections) -> impl Iterator<Item = &Connection> {
        connections
            .iter()
            .filter(|connection| connection.open && connection.subflow.is_none() && !connection.message.ended)
    }

    /// What applications have received so far counts no longer.
    pub(crate) fn omit(&mut self) {
        Self::in_use(&self.connections).for_each(|connection| connection.write_received(&mut self.records));
        self.receive_multipath();
        self.omitted = self.records.iter().map(|record| record.received_bytes).collect();
    }

    /// Writes down the counters of the flows that are still open.
    pub(crate) fn finish(&mut self) {
        Self::in_use(&self.connections).for_each(|connection| connection.write_counters(&mut self.records));
        self.finish_multipath();
        for (record, omitted) in self.records.iter_mut().zip(&self.omitted) {
            record.received_bytes -= omitted;
        }
    }
}
