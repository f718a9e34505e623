//! Counters of flows that have not ended: at the end of the simulation, and when received payload begins to count.

use super::Hosts;
use crate::connections::{Connection, Connections};

impl Hosts<'_> {
    /// Connections with a flow of their own that has not ended.
    fn in_use(connections: &Connections) -> impl Iterator<Item = &Connection> {
        connections
            .iter()
            .filter(|connection| connection.open && connection.subflow.is_none() && !connection.message.ended)
    }

    /// What applications have received so far counts no longer.
    pub(crate) fn omit(&mut self) {
        for connection in Self::in_use(&self.connections) {
            connection.write_received(self.flows.record(connection.message.flow));
        }
        self.receive_multipath();
        self.flows.omit();
    }

    /// Writes down the counters of the flows that are still open.
    pub(crate) fn finish(&mut self) {
        for connection in Self::in_use(&self.connections) {
            connection.write_counters(self.flows.record(connection.message.flow));
        }
        self.finish_multipath();
    }
}
