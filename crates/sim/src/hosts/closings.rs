//! Closings of connections whose sender is in another part of the fabric: what the receiving half does waits where they may
//! have closed.

use super::Hosts;
use super::ends::note_closed;
use crate::network::{Address, Network};
use crate::timers::Timer;
use crate::{Kind, Packet};

/// The next event of a part.
pub(crate) struct Next {
    /// When it happens.
    pub(crate) now_ps: u64,
    /// Its position in the order of events.
    pub(crate) position: u64,
    /// Position before which all closings are known.
    pub(crate) known: u64,
}

impl Hosts<'_> {
    /// Whether a connection is open whose receiver is here and not its sender.
    pub(super) fn is_received_here(&self, name: u32) -> bool {
        let (Some(remote), Some(connection)) = (&self.remote, self.connections.peek(name)) else {
            return false;
        };
        let address = &connection.sending.address;
        remote.has(address.destination) && !remote.has(address.host)
    }

    /// Closes connections whose closing all parts have passed, and frees their names: those before `position`.
    pub(crate) fn settle_closings(&mut self, position: u64, network: &mut Network) {
        let Some(remote) = &mut self.remote else { return };
        for name in remote.census.settle(position) {
            if let Some(remote) = &mut self.remote {
                remote.names.free(name);
            }
            self.close_receiver(name, network);
        }
    }

    /// Closes the receiving half of a connection whose sender, in another part, has closed, with those of the other parts of
    /// its message.
    fn close_receiver(&mut self, name: u32, network: &mut Network) {
        if !self.is_received_here(name) {
            return;
        }
        let Some(connection) = self.connections.get(name) else { return };
        let flow = connection.message.flow;
        let names = if let Some(subflow) = connection.subflow {
            self.close_subflows(subflow.multipath)
        } else if self.striped.carries(flow) {
            self.write_parts(flow);
            self.striped.forget(flow)
        } else {
            let transport = &self.transports[usize::from(connection.transport)];
            connection.write_counters(transport, self.flows.record(flow));
            vec![name]
        };
        for name in names {
            let Address { host, destination, .. } = self.connections.last_user(name).sending.address;
            note_closed(name, [host, destination], network);
            self.connections.close_slot(name);
            if let Some(remote) = &mut self.remote {
                remote.closings.remove(&name);
                remote.arrived_ps.remove(&name);
            }
        }
    }

    /// Notes that a message has arrived whole, whose sender is in another part: that closes no sooner than by an answer.
    pub(super) fn note_arrived(&mut self, name: u32, now_ps: u64) {
        if self.is_received_here(name)
            && let Some(remote) = &mut self.remote
        {
            remote.arrived_ps.insert(name, now_ps);
        }
    }

    /// Whether what a receiving half does next may depend on whether its sender, in another part, has closed; closes it if it
    /// has.
    pub(crate) fn depends_on_sender(&mut self, name: u32, next: &Next, network: &mut Network) -> bool {
        let Some(connection) = self.connections.peek(name) else { return false };
        let message = connection.message;
        // While part of its message is missing or waits, it is open whatever is acknowledged.
        if !message.delivered || !self.is_received_here(name) || self.striped.is_undelivered(message.flow) {
            return false;
        }
        // And while its last bytes are not acknowledged; those of a subflow others may have carried too.
        if connection.subflow.is_none()
            && connection.receiving.end.owes_answer(&self.transports[usize::from(connection.transport)])
        {
            return false;
        }
        let Some(remote) = &self.remote else { return false };
        if remote.closings.get(&name).is_some_and(|&closing| closing < next.position) {
            self.close_receiver(name, network);
            return false;
        }
        let answered_ps =
            remote.arrived_ps.get(&name).map_or(0, |at_ps| at_ps.saturating_add(remote.answer_ps));
        next.position > next.known && next.now_ps >= answered_ps
    }

    /// Whether the receiver of a packet may depend on its sender: see [`Self::depends_on_sender`].
    #[inline(always)]
    pub(crate) fn packet_depends(&mut self, packet: &Packet, next: &Next, network: &mut Network) -> bool {
        matches!(packet.kind, Kind::Data | Kind::Syn | Kind::Request)
            && self.depends_on_sender(packet.connection, next, network)
    }

    /// Whether a timer that is due now may depend on a sender: see [`Self::depends_on_sender`].
    pub(crate) fn timer_depends(&mut self, timer: Timer, next: &Next, network: &mut Network) -> bool {
        match timer {
            Timer::Receiver(_, name) => {
                let is_due =
                    self.connections.peek(name).is_some_and(|one| one.receiving.wake_ps == next.now_ps);
                is_due && self.depends_on_sender(name, next, network)
            }
            Timer::Pacer(host) => self.grant_depends(host, next, network),
            _ => false,
        }
    }

    /// Whether it may depend on a sender whose turn it is to be granted credit by a host: those whose connection has closed
    /// are passed over.
    fn grant_depends(&mut self, host: u32, next: &Next, network: &mut Network) -> bool {
        for turn in 0.. {
            let Some(name) = self.pacers[host as usize].coming(turn) else { break };
            if self.depends_on_sender(name, next, network) {
                return true;
            }
            if self.connections.peek(name).is_some() {
                break;
            }
        }
        false
    }
}
