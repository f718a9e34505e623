//! Records of single packets: captures of ports, and events such as drops and marks. Who sent a packet, and for which flow,
//! the hosts fill in at the end of the engine's event, while the connection still carries that flow.

use crate::{
    CapturedPacket, Carrier, EventKind, Header, Kind, MessagePosition, Observe, Packet, PacketEvent,
};
use std::collections::HashMap;

/// A connection, by whose name its packets are known after it closed.
struct Carried {
    /// Hosts of its sending and of its receiving half.
    hosts: [u32; 2],
    flow: u32,
    carrier: Carrier,
}

/// Records of single packets.
pub(crate) struct Recorder {
    /// Packets still to be captured at each port. Empty if nothing is.
    captured: Vec<u64>,
    capture_packets_max: u64,
    /// Captured packets.
    pub(crate) captures: Vec<CapturedPacket>,
    /// Captured packets whose sender is known: so many of the first.
    captures_named: usize,
    /// All connections, by name, if packets are captured.
    carried: HashMap<u32, Carried>,
    events_max: u64,
    /// Events written down, by [`EventKind`].
    events_count: [u64; EventKind::ALL.len()],
    /// Events, by time.
    pub(crate) events: Vec<PacketEvent>,
    /// Events whose flow is not known yet, with their packets.
    unnamed: Vec<(usize, Packet)>,
    /// Flow and path of the last segment that arrived on each connection, by the connection's slot.
    last: Vec<Option<(u32, u16)>>,
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
            captures_named: 0,
            carried: HashMap::new(),
            events_max: observe.events_max,
            events_count: [0; EventKind::ALL.len()],
            events: Vec::new(),
            unnamed: Vec::new(),
            last: Vec::new(),
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
            // One of this very event is not named yet.
            self.captures_named -= usize::from(index < self.captures_named);
        }
    }

    /// Writes an event down, unless there are enough of its kind.
    pub(super) fn note(&mut self, what: EventKind, time_ps: u64, port: Option<u32>, packet: &Packet) {
        if self.counts(what) {
            self.unnamed.push((self.events.len(), *packet));
            let (kind, path) = (packet.kind, packet.path);
            self.events.push(PacketEvent { time_ps, what, port, flow: None, kind, path });
        }
    }

    /// A segment or datagram of a flow arrived on the connection in a slot: an event if it came by another path than the one
    /// before it.
    pub(crate) fn arrived(&mut self, time_ps: u64, flow: u32, slot: usize, packet: &Packet) {
        if self.events_max == 0 {
            return;
        }
        if slot >= self.last.len() {
            self.last.resize(slot + 1, None);
        }
        let now = Some((flow, packet.path));
        if std::mem::replace(&mut self.last[slot], now) != now {
            self.note_at_host(EventKind::OtherPath, time_ps, flow, packet);
        }
    }

    /// A segment of a flow arrived and its receiver discarded it.
    pub(crate) fn discarded(&mut self, time_ps: u64, flow: u32, packet: &Packet) {
        self.note_at_host(EventKind::Discarded, time_ps, flow, packet);
    }

    /// Writes an event at a host down, unless there are enough of its kind.
    fn note_at_host(&mut self, what: EventKind, time_ps: u64, flow: u32, packet: &Packet) {
        if self.counts(what) {
            let (kind, path, flow) = (packet.kind, packet.path, Some(flow));
            self.events.push(PacketEvent { time_ps, what, port: None, flow, kind, path });
        }
    }

    /// Counts one more event of a kind, if there is room for it.
    fn counts(&mut self, what: EventKind) -> bool {
        let count = &mut self.events_count[what as usize];
        let room = *count < self.events_max;
        *count += u64::from(room);
        room
    }

    /// Whether there are packets of which it does not know whose they are.
    pub(super) fn has_unnamed(&self) -> bool {
        !self.unnamed.is_empty() || self.captures_named < self.captures.len()
    }

    /// A connection of a flow opens between two hosts.
    pub(crate) fn opened(&mut self, name: u32, flow: u32, hosts: [u32; 2], carrier: Carrier) {
        if !self.captured.is_empty() {
            self.carried.insert(name, Carried { hosts, flow, carrier });
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
        if let Some(Carried { carrier: Carrier::Roce(position, _) | Carrier::Uec(position), .. }) =
            self.carried.get_mut(&name)
        {
            *position = MessagePosition { queue_pair, messages_before, packets_before, ..*position };
        }
    }

    /// Finds who sent the captured packets of which that is not known yet, and for which flow. `flow_of` says it of packets of
    /// streams, whose connection may carry one flow after the other, as long as it is known.
    pub(crate) fn name_captures(&mut self, flow_of: impl Fn(&Packet) -> Option<u32>) {
        for capture in &mut self.captures[self.captures_named..] {
            let packet = &capture.packet;
            if packet.kind == Kind::Pause {
                continue;
            }
            if packet.kind.is_probe() {
                capture.src = packet.connection;
                continue;
            }
            let Some(&Carried { hosts: [sender, receiver], flow, carrier }) =
                self.carried.get(&packet.connection)
            else {
                continue;
            };
            capture.src = if packet.destination == sender { receiver } else { sender };
            capture.flow = if carrier == Carrier::Stream { flow_of(packet).unwrap_or(flow) } else { flow };
            capture.carrier = carrier;
        }
        self.captures_named = self.captures.len();
    }

    /// Finds the flows of events that have none yet.
    pub(crate) fn name_events(&mut self, flow_of: impl Fn(&Packet) -> Option<u32>) {
        for (index, packet) in self.unnamed.drain(..) {
            self.events[index].flow = flow_of(&packet);
        }
    }
}
