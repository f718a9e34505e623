//! Counters of flows that have not ended: at the end of the simulation, and when received payload begins to count.

use super::Hosts;
use super::queue_pairs::Striped;
use crate::connections::{Connection, Connections};

/// What receivers of RoCE did not take.
#[derive(Default)]
pub(crate) struct Refused {
    /// RNR NAKs after which senders waited, of flows that have ended.
    pub(crate) not_ready: u64,
    /// Segments that arrived and that their receivers discarded.
    pub(crate) discarded: u64,
}

impl Hosts<'_> {
    /// Connections with a flow of their own that has not ended.
    fn in_use<'a>(
        connections: &'a Connections,
        striped: &'a Striped,
    ) -> impl Iterator<Item = &'a Connection> {
        connections.iter().filter(|connection| {
            let Connection { open, subflow, message, .. } = connection;
            *open && subflow.is_none() && !message.ended && !striped.carries(message.flow)
        })
    }

    /// What applications have received so far counts no longer.
    pub(crate) fn omit(&mut self) {
        for connection in Self::in_use(&self.connections, &self.striped) {
            let transport = &self.transports[usize::from(connection.transport)];
            connection.write_received(transport, self.flows.record(connection.message.flow));
        }
        self.receive_streams();
        self.receive_multipath();
        self.receive_parts();
        self.flows.omit();
    }

    /// Writes down the counters of the flows that are still open.
    pub(crate) fn finish(&mut self) {
        for connection in Self::in_use(&self.connections, &self.striped) {
            let transport = &self.transports[usize::from(connection.transport)];
            let record = self.flows.record(connection.message.flow);
            self.refused.not_ready += u64::from(connection.write_counters(transport, record));
        }
        self.finish_streams();
        self.finish_multipath();
        self.finish_parts();
    }
}
