//! The connections that are open: two halves each, in two hosts.

use crate::card::Owner;
use crate::network::{Address, Network};
use crate::pair::Pair;
use crate::telemetry::Carried;
use crate::timers::Timer;
use crate::transport::{
    AnyReceiver, AnySender, Host, Receiver, ReceiverCounters, Sender, SenderCounters, Transport,
};
use crate::{FlowRecord, Kind, Packet, SimulationError};
use anabranch_split::prefetch::prefetch;
use std::collections::HashMap;
use std::mem::offset_of;

/// Bits of [`Packet::connection`] that name the slot; the generation stands above.
pub(crate) const SLOT_BITS: u32 = 24;

/// Last generation of a slot. A slot that has lived it is not used again, so that no name is given twice in a run:
/// a packet, a timer or a switch's memory of a closed connection can never be taken for another's.
pub(crate) const LAST_GENERATION: u32 = u32::MAX >> SLOT_BITS;

/// Slot of a connection in the table of connections, from its name: small numbers, used again.
#[inline(always)]
pub const fn connection_slot(name: u32) -> usize {
    (name & ((1 << SLOT_BITS) - 1)) as usize
}

/// A half with its address and its wish to be woken.
#[repr(C)]
pub(crate) struct Half<M> {
    pub(crate) address: Address,
    /// Its queue in the host's card when a packet waited there last.
    pub(crate) slot: u32,
    pub(crate) wake_ps: u64,
    pub(crate) end: M,
}

/// Message sent over a connection now.
#[derive(Clone, Copy)]
pub(crate) struct Message {
    /// The flow.
    pub(crate) flow: u32,
    /// Its first byte's position in the stream.
    pub(crate) first: u64,
    /// Its last byte's position in the stream, plus one.
    pub(crate) end: u64,
    /// Whether its last byte was delivered.
    pub(crate) delivered: bool,
    /// Whether nothing of it is left to be acknowledged either: a persistent connection is idle from then on.
    pub(crate) ended: bool,
    /// Whether the next message of its queue pair waits until all of this one has been sent.
    pub(crate) holds: bool,
    /// Whether there may be other messages under way on its queue pair, which share its window.
    pub(crate) shares: bool,
}

impl Message {
    /// So many bytes of a flow, which begin a stream.
    pub(crate) fn whole(flow: u32, bytes: u64) -> Self {
        Self { flow, first: 0, end: bytes, delivered: false, ended: false, holds: false, shares: false }
    }
}

/// Which subflow of which flow of MPTCP a connection is.
#[derive(Clone, Copy)]
pub(crate) struct Subflow {
    /// The flow's slot among those of MPTCP.
    pub(crate) multipath: u32,
    /// The subflow's number in it.
    pub(crate) index: u8,
}

/// One connection. What every packet asks for first, whether it is the one that is named, begins it; what an
/// acknowledgement of data in order touches ends with the fourth cache line, and the receiving half has the last two.
#[repr(C, align(64))]
pub(crate) struct Connection {
    /// Message that the connection carries, or carried last.
    pub(crate) message: Message,
    /// Whether it is in use or may be found again by its name.
    pub(crate) open: bool,
    /// Index into the settings' transports.
    pub(crate) transport: u8,
    /// Number of its queue pair among those that carry the message, or of its subflow.
    pub(crate) queue_pair: u8,
    /// Role in a flow of MPTCP, if it has one.
    pub(crate) subflow: Option<Subflow>,
    pub(crate) sending: Half<AnySender>,
    /// The receiving half begins a cache line.
    line: [Line; 0],
    pub(crate) receiving: Half<AnyReceiver>,
}

/// Start of a cache line.
#[repr(align(64))]
struct Line;

const _: () = assert!(size_of::<Connection>() == 7 * 64 && offset_of!(Connection, receiving) == 5 * 64);

impl Connection {
    /// A slot that no flow has used yet.
    pub(crate) fn blank() -> Self {
        Self {
            sending: Half {
                end: AnySender::Stream(Sender::new()),
                address: Address::default(),
                wake_ps: u64::MAX,
                slot: 0,
            },
            receiving: Half {
                end: AnyReceiver::Stream(Receiver::new()),
                address: Address::default(),
                wake_ps: u64::MAX,
                slot: 0,
            },
            message: Message::whole(0, 0),
            subflow: None,
            transport: 0,
            queue_pair: 0,
            open: true,
            line: [],
        }
    }

    /// Fresh machines; memory they have is kept.
    pub(crate) fn reset(&mut self, transport: &Transport) {
        self.receiving.wake_ps = u64::MAX;
        self.sending.wake_ps = u64::MAX;
        transport.store_halves(&mut self.sending.end, &mut self.receiving.end);
    }

    /// Frees the memory of both machines: no flow will use the slot again.
    fn release(&mut self) {
        self.sending.end = AnySender::Stream(Sender::new());
        self.receiving.end = AnyReceiver::Stream(Receiver::new());
    }

    /// A new message begins: counters from zero.
    pub(crate) fn restart_counters(&mut self, transport: &Transport) {
        self.sending.end.restart_counters(transport);
        self.receiving.end.set_counters(transport, &ReceiverCounters::default());
    }

    pub(crate) fn sender<'a>(&'a mut self, network: &'a mut Network) -> (&'a mut AnySender, Outlet<'a>) {
        let Half { end, address, wake_ps, slot } = &mut self.sending;
        let timer = Timer::of_sender((self.message.flow, self.queue_pair), address.connection);
        let owner = Owner::Sender(address.connection);
        (end, Outlet { network, address: &*address, wake_ps, timer, owner, slot })
    }

    pub(crate) fn receiver<'a>(&'a mut self, network: &'a mut Network) -> (&'a mut AnyReceiver, Outlet<'a>) {
        let Half { end, address, wake_ps, slot } = &mut self.receiving;
        let timer = Timer::of_receiver((self.message.flow, self.queue_pair), address.connection);
        let owner = Owner::Receiver(address.connection);
        (end, Outlet { network, address, wake_ps, timer, owner, slot })
    }

    /// Whether nothing follows from so many bytes in order: the message has more, or its end is known.
    #[inline(always)]
    pub(crate) fn waits_for_more_than(&self, delivered: u64) -> bool {
        self.subflow.is_none() && (delivered < self.message.end || self.message.delivered)
    }

    /// Counters of both halves.
    pub(crate) fn counters(&self, transport: &Transport) -> (SenderCounters, ReceiverCounters) {
        (self.sending.end.counters(transport), self.receiving.end.counters(transport))
    }

    /// Writes down the counters of both halves. Returns the RNR NAKs after which the sender waited.
    pub(crate) fn write_counters(&self, transport: &Transport, record: &mut FlowRecord) -> u32 {
        let (sent, received) = self.counters(transport);
        record.count(&sent, &received);
        self.write_received(transport, record);
        sent.not_ready
    }

    /// Writes down what the application has of the message, if it is no subflow's.
    pub(crate) fn write_received(&self, transport: &Transport, record: &mut FlowRecord) {
        record.received_bytes = self.received_bytes(transport);
    }

    /// Bytes of the message that the application has, if it is no subflow's.
    pub(crate) fn received_bytes(&self, transport: &Transport) -> u64 {
        let Message { first, end, .. } = self.message;
        self.receiving.end.delivered(transport).clamp(first, end) - first
    }
}

/// A half's view of its host.
pub(crate) struct Outlet<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) address: &'a Address,
    pub(crate) wake_ps: &'a mut u64,
    pub(crate) timer: Timer,
    pub(crate) owner: Owner,
    pub(crate) slot: &'a mut u32,
}

impl Host for Outlet<'_> {
    #[inline(always)]
    fn now_ps(&self) -> u64 {
        self.network.now_ps
    }

    fn link_bps(&self) -> u64 {
        self.network.ports[self.address.port as usize].rate_bps()
    }

    fn unbounded_frame_ps(&self, wire_bytes: u32) -> Option<u64> {
        let Self { network, address, .. } = self;
        network.cards.is_none().then(|| network.ports[address.port as usize].frame_ps(wire_bytes))
    }

    #[inline(always)]
    fn send(&mut self, packet: Packet) {
        self.network.send(self.address, self.owner, self.slot, packet);
    }

    #[inline(always)]
    fn room(&mut self, frame_bytes: u16) -> bool {
        self.network.room(self.address, self.owner, self.slot, frame_bytes)
    }

    fn contenders(&mut self) -> u32 {
        let Self { network, address, owner, slot, .. } = self;
        network.cards.as_ref().map_or(1, |cards| cards.contenders(address.host, *owner, **slot))
    }

    fn leaves_ps(&self) -> u64 {
        self.network.leaves_ps(self.address.port)
    }

    fn waits(&mut self) -> bool {
        self.network.waits(self.owner, *self.slot)
    }

    #[inline(always)]
    fn wake_at(&mut self, at_ps: u64) {
        if at_ps < *self.wake_ps {
            *self.wake_ps = at_ps;
            self.network.wake_at(at_ps, self.timer);
        }
    }

    fn telemetry(&self) -> Carried {
        self.network.telemetry.as_ref().map(|telemetry| telemetry.arrived()).unwrap_or_default()
    }

    fn timed_out(&mut self) {
        let address = self.address;
        self.network.with_host_balancer(|host, network| host.timed_out(address, network));
    }
}

/// Cache lines.
type Lines<const COUNT: usize> = [[u8; 64]; COUNT];

/// A part of a connection, which need not be there.
#[inline(always)]
fn at<T>(connection: *const Connection, offset: usize) -> *const T {
    connection.wrapping_byte_add(offset).cast()
}

/// All connections.
#[derive(Default)]
pub(crate) struct Connections {
    all: Vec<Connection>,
    free: Vec<u32>,
    /// Idle persistent connections, the one that was used last at the end.
    idle: HashMap<Pair, Vec<u32>>,
    /// Connections that are open, and the most that were at once.
    open: usize,
    peak: usize,
}

impl Connections {
    /// The connection that a packet or timer names, unless it was closed since.
    #[inline(always)]
    pub(crate) fn get(&mut self, name: u32) -> Option<&mut Connection> {
        let connection = self.all.get_mut(connection_slot(name))?;
        (connection.sending.address.connection == name && connection.open).then_some(connection)
    }

    /// The open connection of this name, to be looked at.
    pub(crate) fn peek(&self, name: u32) -> Option<&Connection> {
        let connection = self.all.get(connection_slot(name))?;
        (connection.sending.address.connection == name && connection.open).then_some(connection)
    }

    /// Fetches what a packet of this kind will need of a connection.
    #[inline(always)]
    pub(crate) fn prefetch(&self, name: u32, kind: Kind) {
        let connection = self.all.as_ptr().wrapping_add(connection_slot(name));
        match kind {
            Kind::Data => {
                prefetch(connection.cast::<Lines<1>>());
                prefetch(at::<Half<AnyReceiver>>(connection, offset_of!(Connection, receiving)));
            }
            Kind::Ack => prefetch(connection.cast::<Lines<4>>()),
            _ => prefetch(connection.cast::<Lines<1>>()),
        }
    }

    /// Fetches what the wake-up of a sender will need of a connection, which most often has nothing to do or is closed.
    #[inline(always)]
    pub(crate) fn prefetch_sender(&self, name: u32) {
        prefetch(self.all.as_ptr().wrapping_add(connection_slot(name)).cast::<Lines<2>>());
    }

    /// Fetches what stands apart of a connection that was fetched before, and says which flow's message ends with the byte
    /// before `end`.
    #[inline(always)]
    pub(crate) fn prefetch_apart(&self, name: u32, kind: Kind, end: u64) -> Option<u32> {
        let connection = self.all.get(connection_slot(name))?;
        match kind {
            Kind::Ack => connection.sending.end.prefetch_apart(),
            Kind::Data => connection.receiving.end.prefetch_apart(),
            _ => {}
        }
        (end >= connection.message.end).then_some(connection.message.flow)
    }

    /// Last connection in the slot of `name`.
    pub(crate) fn last_user(&self, name: u32) -> &Connection {
        &self.all[connection_slot(name)]
    }

    /// An idle persistent connection.
    pub(crate) fn take_idle(&mut self, pair: &Pair) -> Option<u32> {
        let slot = self.idle.get_mut(pair)?.pop()?;
        Some(self.all[slot as usize].sending.address.connection)
    }

    /// Keeps a persistent connection for later.
    pub(crate) fn keep_idle(&mut self, name: u32, pair: Pair) {
        let slot = name & ((1 << SLOT_BITS) - 1);
        self.idle.entry(pair).or_default().push(slot);
    }

    /// Opens a connection in a free slot; its name is in its addresses, all else is as `make` makes it or as the
    /// last user left it.
    pub(crate) fn open(
        &mut self,
        make: impl FnOnce() -> Connection,
    ) -> Result<&mut Connection, SimulationError> {
        let slot = match self.free.pop() {
            Some(slot) => slot as usize,
            None if self.all.len() >> SLOT_BITS != 0 => {
                return Err(SimulationError::new(
                    format!("traffic: {} connections are open, and no name is left for another", self.open),
                    "lower the load or the number of flows: a run has 4,294,967,296 names",
                ));
            }
            None => {
                self.all.push(make());
                let slot = self.all.len() - 1;
                let name = (slot as u32).wrapping_sub(1 << SLOT_BITS);
                self.all[slot].sending.address.connection = name;
                slot
            }
        };
        let connection = &mut self.all[slot];
        let name = connection.sending.address.connection.wrapping_add(1 << SLOT_BITS);
        connection.sending.address.connection = name;
        connection.receiving.address.connection = name;
        connection.open = true;
        self.open += 1;
        self.peak = self.peak.max(self.open);
        Ok(connection)
    }

    /// Opens a connection whose name is given, as the parts of a fabric give it, in its slot; all else as [`Self::open`].
    pub(crate) fn open_as(&mut self, name: u32, blank: impl Fn() -> Connection) -> &mut Connection {
        let slot = connection_slot(name);
        if slot >= self.all.len() {
            let closed = || Connection { open: false, ..blank() };
            self.all.resize_with(slot + 1, closed);
        }
        let connection = &mut self.all[slot];
        connection.sending.address.connection = name;
        connection.open = true;
        self.open += 1;
        connection
    }

    /// Closes a connection that was opened by [`Self::open_as`]. Its slot is given again with another name.
    pub(crate) fn close_slot(&mut self, name: u32) {
        self.all[connection_slot(name)].open = false;
        self.open -= 1;
    }

    /// Closes a connection: late packets and timers will not find it.
    pub(crate) fn close(&mut self, name: u32) {
        let slot = name & ((1 << SLOT_BITS) - 1);
        self.all[slot as usize].open = false;
        self.open -= 1;
        if name >> SLOT_BITS == LAST_GENERATION {
            self.all[slot as usize].release();
        } else {
            self.free.push(slot);
        }
    }

    /// All slots, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.all.iter()
    }

    /// Connections that are open.
    pub(crate) fn open_count(&self) -> usize {
        self.open
    }

    /// Most connections there were at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of an open flow: both halves, their slot, and the ranges that loss and reordering cost them.
    #[test]
    fn an_open_connection_takes_at_most_two_kibibytes() {
        let ranges = 4 * 16 * size_of::<std::ops::Range<u64>>();
        let bytes = size_of::<Connection>();
        assert!(bytes + ranges <= 2048, "{bytes} and {ranges}");
        assert!(bytes <= 448, "{bytes}");
    }
}
