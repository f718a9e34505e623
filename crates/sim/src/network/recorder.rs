//! Records of single packets: captures of ports, and events such as drops and marks. Whose the packets are is found out when
//! the run is over, by the names of their connections: a part of a fabric does not know all that pass through it.

use super::Network;
use crate::slab::PacketId;
use crate::{
    CapturedPacket, Carrier, EventKind, Header, Kind, MessagePosition, Observe, Packet, PacketEvent,
};
use rustc_hash::FxHashMap;

/// A connection that was opened, as far as captures tell of it.
struct Opened {
    /// Hosts of its sending and of its receiving half.
    hosts: [u32; 2],
    carrier: Carrier,
}

/// An event, and the packet of it whose flow is not known yet.
struct Noted {
    event: PacketEvent,
    of: Option<Of>,
}

/// Connection of a packet, and its byte there: they tell its flow.
struct Of {
    connection: u32,
    seq: u64,
}

/// How far events of one kind are written down.
#[derive(Clone, Copy, Default)]
struct Room {
    count: u64,
    latest_ps: u64,
    /// Whether there are as many as asked for: no later ones are written down.
    full: bool,
}

/// Records of single packets.
pub(crate) struct Recorder {
    /// Packets still to be captured at each port. Empty if nothing is.
    captured: Vec<u64>,
    capture_packets_max: u64,
    captures: Vec<CapturedPacket>,
    /// Connections whose sender is here, by name, if packets are captured.
    opened: FxHashMap<u32, Opened>,
    /// Names of connections, the first byte in their streams of what they carry, and its flow.
    carried: Vec<(u32, u64, u32)>,
    events_max: u64,
    room: [Room; EventKind::ALL.len()],
    /// Events of each kind: as many as asked for, and others that may be among the first of the whole.
    events: Vec<Noted>,
    /// Path of the last segment that arrived of each flow on each connection, by its name.
    last: FxHashMap<(u32, u32), u16>,
}

impl Recorder {
    /// What is asked for on a fabric with so many ports; `None` if that is nothing.
    pub(super) fn of(observe: &Observe, ports: usize) -> Option<Self> {
        if observe.capture_ports.is_empty() && observe.events_max == 0 {
            return None;
        }
        let mut captured = vec![0; if observe.capture_ports.is_empty() { 0 } else { ports }];
        for &port in &observe.capture_ports {
            captured[port as usize] = observe.capture_packets_max;
        }
        Some(Self {
            captured,
            capture_packets_max: observe.capture_packets_max,
            captures: Vec::new(),
            opened: FxHashMap::default(),
            carried: Vec::new(),
            events_max: observe.events_max,
            room: Default::default(),
            events: Vec::new(),
            last: FxHashMap::default(),
        })
    }

    /// Captures a packet that a port took and begins to send at `time_ps`.
    pub(super) fn capture(&mut self, port: u32, time_ps: u64, packet: &Packet, header: Option<Header>) {
        if self.captured.is_empty() || self.captured[port as usize] == 0 {
            return;
        }
        self.captured[port as usize] -= 1;
        let carrier = Carrier::Stream;
        self.captures.push(CapturedPacket {
            port,
            time_ps,
            packet: *packet,
            src: 0,
            flow: 0,
            carrier,
            header,
        });
    }

    /// Takes back what was captured of the packet that a port took last, and gives up now.
    pub(super) fn take_back(&mut self, port: u32, packet: &Packet) {
        if self.captured.is_empty() || self.captured[port as usize] == self.capture_packets_max {
            return;
        }
        let Some(index) = self.captures.iter().rposition(|capture| capture.port == port) else { return };
        let captured = &self.captures[index].packet;
        if (captured.connection, captured.seq, captured.kind) == (packet.connection, packet.seq, packet.kind)
        {
            self.captures.remove(index);
            self.captured[port as usize] += 1;
        }
    }

    /// Writes an event down, unless there are enough of its kind before it.
    pub(super) fn note(&mut self, what: EventKind, time_ps: u64, port: Option<u32>, packet: &Packet) {
        let is_of_none = packet.kind.is_probe() || packet.kind == Kind::Pause;
        let of = (!is_of_none).then_some(Of { connection: packet.connection, seq: packet.seq });
        self.write_down(what, time_ps, (port, None), packet, of);
    }

    /// A segment or datagram of a flow arrived on its connection: an event if it came by another path than the one before it.
    pub(crate) fn arrived(&mut self, time_ps: u64, flow: u32, packet: &Packet) {
        if self.events_max == 0 {
            return;
        }
        if self.last.insert((packet.connection, flow), packet.path) != Some(packet.path) {
            self.write_down(EventKind::OtherPath, time_ps, (None, Some(flow)), packet, None);
        }
    }

    /// A segment of a flow arrived and its receiver discarded it.
    pub(crate) fn discarded(&mut self, time_ps: u64, flow: u32, packet: &Packet) {
        self.write_down(EventKind::Discarded, time_ps, (None, Some(flow)), packet, None);
    }

    fn write_down(
        &mut self,
        what: EventKind,
        time_ps: u64,
        (port, flow): (Option<u32>, Option<u32>),
        packet: &Packet,
        of: Option<Of>,
    ) {
        let room = &mut self.room[what as usize];
        // Of those in one picosecond the last lines decide, and other parts may have earlier ones.
        if self.events_max == 0 || (room.full && time_ps > room.latest_ps) {
            return;
        }
        room.count += 1;
        room.latest_ps = room.latest_ps.max(time_ps);
        room.full |= room.count == self.events_max;
        let (kind, path) = (packet.kind, packet.path);
        self.events.push(Noted { event: PacketEvent { time_ps, what, port, flow, kind, path }, of });
    }

    /// A connection whose sender is here carries a flow from a byte of its stream on.
    pub(crate) fn carries(&mut self, name: u32, first: u64, flow: u32) {
        self.carried.push((name, first, flow));
    }

    /// A connection whose sender is here opens between two hosts.
    pub(crate) fn opened(&mut self, name: u32, flow: u32, hosts: [u32; 2], carrier: Carrier) {
        self.carries(name, 0, flow);
        if !self.captured.is_empty() {
            self.opened.insert(name, Opened { hosts, carrier });
        }
    }

    /// A connection that just opened goes on where others on its queue pair ended.
    pub(crate) fn continues(
        &mut self,
        name: u32,
        queue_pair: u32,
        messages_before: u32,
        packets_before: u32,
    ) {
        if let Some(Opened { carrier: Carrier::Roce(position, _) | Carrier::Uec(position), .. }) =
            self.opened.get_mut(&name)
        {
            *position = MessagePosition { queue_pair, messages_before, packets_before, ..*position };
        }
    }
}

impl Network {
    /// Offers a packet to a FIFO port, and records it and its mark.
    #[cold]
    #[inline(never)]
    pub(super) fn enqueue_recorded<const HOST: bool>(&mut self, port: u32, id: PacketId) {
        let marked_before = self.ports[port as usize].marked_packets();
        let taken = self.offer_in_part::<HOST>(port, id);
        let egress = &self.ports[port as usize];
        let Some(recorder) = &mut self.recorder else { return };
        if !taken {
            return;
        }
        let packet = self.packets.get(id);
        if egress.marked_packets() != marked_before {
            recorder.note(EventKind::Marked, self.now_ps, Some(port), packet);
        }
        let header = self.headers.as_ref().and_then(|headers| headers.of_packet(packet));
        recorder.capture(port, egress.last_start_ps(), packet, header);
    }
}

/// Records of all parts of a fabric: captured packets by time, then port, and events by [`PacketEvent::rank`], of each kind as
/// many as asked for.
pub(crate) fn records(recorders: Vec<Recorder>) -> (Vec<CapturedPacket>, Vec<PacketEvent>) {
    let flows = Flows::of(&recorders);
    let events_max = recorders.iter().map(|recorder| recorder.events_max).max().unwrap_or(0);
    let (mut captures, mut events, mut opened) = (Vec::new(), Vec::new(), FxHashMap::default());
    for recorder in recorders {
        opened.extend(recorder.opened);
        captures.extend(recorder.captures);
        events.extend(recorder.events.into_iter().map(|Noted { event, of }| {
            let found = of.and_then(|of| flows.find(of.connection, of.seq, event.kind));
            PacketEvent { flow: event.flow.or(found), ..event }
        }));
    }
    for CapturedPacket { packet, src, flow, carrier, .. } in &mut captures {
        if packet.kind.is_probe() {
            *src = packet.connection;
        } else if let Some(opened) = opened.get(&packet.connection).filter(|_| packet.kind != Kind::Pause) {
            let [sender, receiver] = opened.hosts;
            *src = if packet.destination == sender { receiver } else { sender };
            *flow = flows.find(packet.connection, packet.seq, packet.kind).unwrap_or(*flow);
            *carrier = opened.carrier;
        }
    }
    captures.sort_by_key(|capture| (capture.time_ps, capture.port));
    events.sort_by_key(PacketEvent::rank);
    let mut left = [events_max; EventKind::ALL.len()];
    events.retain(|event| {
        let left = &mut left[event.what as usize];
        let fits = *left > 0;
        *left -= u64::from(fits);
        fits
    });
    (captures, events)
}

/// Flows of the connections of recorded packets, by name, each with its first byte.
struct Flows(FxHashMap<u32, Vec<(u64, u32)>>);

impl Flows {
    fn of(recorders: &[Recorder]) -> Self {
        let mut flows: FxHashMap<u32, Vec<(u64, u32)>> = FxHashMap::default();
        for recorder in recorders {
            let of_events = recorder.events.iter().filter_map(|noted| noted.of.as_ref());
            let of_captures = recorder.captures.iter().map(|capture| capture.packet.connection);
            for name in of_events.map(|of| of.connection).chain(of_captures) {
                flows.entry(name).or_default();
            }
        }
        for &(name, first, flow) in recorders.iter().flat_map(|recorder| &recorder.carried) {
            if let Some(carried) = flows.get_mut(&name) {
                carried.push((first, flow));
            }
        }
        Self(flows)
    }

    /// Flow of a packet: that of its first byte, and of an answer that of the byte before the next one expected.
    fn find(&self, connection: u32, seq: u64, kind: Kind) -> Option<u32> {
        let carried = self.0.get(&connection)?;
        let byte = if kind.is_answer() { seq.saturating_sub(1) } else { seq };
        let next = carried.partition_point(|&(first, _)| first <= byte);
        carried.get(next.saturating_sub(1)).map(|&(_, flow)| flow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorder() -> Recorder {
        let observe = Observe { capture_ports: vec![0], capture_packets_max: 9, ..Observe::default() };
        Recorder::of(&observe, 1).unwrap_or_else(|| unreachable!("a port is captured"))
    }

    /// A packet is of the flow of its first byte, an answer of that of the byte before the one it expects; a message on a queue
    /// pair goes on where those before it ended.
    #[test]
    fn packets_are_of_the_flows_that_their_connections_carry() {
        let (mut sender, mut elsewhere) = (recorder(), recorder());
        let (messages_before, packets_before, message_bytes, packet_bytes) = (0, 0, 2000, 1000);
        let position =
            MessagePosition { queue_pair: 7, messages_before, packets_before, message_bytes, packet_bytes };
        sender.opened(7, 3, [0, 1], Carrier::Uec(position));
        sender.carries(7, 2000, 4);
        sender.opened(8, 5, [0, 1], Carrier::Uec(MessagePosition { queue_pair: 8, ..position }));
        sender.continues(8, 7, 2, 6);
        let packets = [
            (7, 1999, Kind::Data),
            (7, 2000, Kind::Data),
            (7, 2000, Kind::Ack),
            (7, 2001, Kind::Ack),
            (8, 0, Kind::Data),
        ];
        for (time_ps, (connection, seq, kind)) in (0..).zip(packets) {
            let destination = u32::from(!kind.is_answer());
            let packet = Packet { connection, seq, kind, destination, ..Packet::default() };
            elsewhere.capture(0, time_ps, &packet, None);
        }
        let (captures, _) = records(vec![sender, elsewhere]);
        let told: Vec<(u32, u32)> = captures.iter().map(|capture| (capture.src, capture.flow)).collect();
        assert_eq!(told, [(0, 3), (0, 4), (1, 3), (1, 4), (0, 5)]);
        let Carrier::Uec(last) = captures[4].carrier else { unreachable!("UEC") };
        assert_eq!((last.queue_pair, last.messages_before, last.packets_before), (7, 2, 6));
    }
}
