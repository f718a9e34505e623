//! A bare event loop over the same closed loop: what a packet-hop costs when nothing is asked but the traffic.
//!
//! A winner tree over ports, 64-byte packets, DCTCP with go-back-N: no selective acknowledgement, no records, no turns at
//! network cards, no load balancer but a hash of the flow at the leaf. What the engine does beyond it, for fidelity and
//! for results, is what its ratio to this loop shows.

use anabranch_fabric::{Fabric, Marking, Serialization, Tier};
use anabranch_traffic::{Flow, Start};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const PAYLOAD_BYTES: u64 = 1448;
const HEADER_BYTES: u64 = 70;
const FRAME_BYTES_MIN: u64 = 64;
const GAP_BYTES: u64 = 20;
const INITIAL_WINDOW: f64 = 10.0 * PAYLOAD_BYTES as f64;
/// Largest window, the `window_max` of the scenarios.
const WINDOW_MAX: f64 = 6_291_456.0;
/// RFC 8257, section 4.2.
const GAIN: f64 = 1.0 / 16.0;
const DUPLICATES: u32 = 3;
const TIMEOUT_PS: u64 = 5_000_000_000;
/// Source of starts and timeouts; port p is source p + 1.
const TIMERS: usize = 0;
const NEVER: u64 = u64::MAX;

/// One cache line, as the engine's.
#[derive(Clone, Copy, Default)]
#[repr(C, align(64))]
struct Packet {
    /// First byte, or of an acknowledgement the next one expected.
    seq: u64,
    flow: u32,
    destination: u32,
    payload_bytes: u16,
    frame_bytes: u16,
    marked: bool,
    is_ack: bool,
}

#[derive(Clone)]
struct Port {
    ring: VecDeque<(u64, u32)>,
    free_ps: u64,
    delay_ps: u64,
    serialization: Serialization,
    to: u32,
    /// Backlogs that mark and fill, as times to send them.
    mark_ps: u64,
    full_ps: u64,
}

/// Both ends of a flow.
#[derive(Clone, Copy)]
struct Connection {
    una: u64,
    next: u64,
    size_bytes: u64,
    window: f64,
    threshold: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
    window_end: u64,
    recover: u64,
    timeout_ps: u64,
    expected: u64,
    duplicates: u32,
    src: u32,
    dst: u32,
}

/// Results of a run.
pub(crate) struct Totals {
    pub(crate) packet_hops: u64,
    pub(crate) finished: usize,
}

struct BareLoop {
    tree: Vec<u64>,
    bits: u32,
    now_ps: u64,
    ports: Vec<Port>,
    packets: Vec<Packet>,
    free: Vec<u32>,
    connections: Vec<Connection>,
    timeouts: BinaryHeap<Reverse<(u64, u32)>>,
    hosts: u32,
    /// Port of each host, and per switch the port to each host, or none.
    host_port: Vec<u32>,
    down: Vec<Vec<u32>>,
    up: Vec<Vec<u32>>,
    totals: Totals,
}

/// Runs flows of a two-tier fabric to their end.
pub(crate) fn run(fabric: &Fabric, flows: &[Flow]) -> Totals {
    let mut bare = BareLoop::new(fabric, flows);
    bare.run(flows);
    bare.totals
}

impl BareLoop {
    fn new(fabric: &Fabric, flows: &[Flow]) -> Self {
        let hosts = fabric.hosts();
        let ports: Vec<Port> = fabric
            .ports()
            .iter()
            .map(|port| {
                let serialization = port.rate.serialization();
                let is_host = port.from < hosts;
                let mark_ps = match port.marking {
                    Marking::Step { packets, .. } if !is_host => {
                        u64::from(packets) * serialization.bytes_ps(PAYLOAD_BYTES + HEADER_BYTES + GAP_BYTES)
                    }
                    _ => NEVER,
                };
                let full_ps = if is_host { NEVER } else { serialization.bytes_ps(port.buffer.bytes.into()) };
                Port {
                    ring: VecDeque::with_capacity(16),
                    free_ps: 0,
                    delay_ps: port.delay_ps,
                    serialization,
                    to: port.to,
                    mark_ps,
                    full_ps,
                }
            })
            .collect();
        let switches = fabric.nodes().len() as u32 - hosts;
        let (mut down, mut up) = (vec![vec![NONE; hosts as usize]; switches as usize], Vec::new());
        for switch in 0..switches {
            let mut ups = Vec::new();
            for &index in fabric.ports_of(hosts + switch) {
                let to = fabric.ports()[index as usize].to;
                let below = &mut down[switch as usize];
                if to < hosts {
                    below[to as usize] = index;
                } else if fabric.nodes()[to as usize].tier == Tier::Spine {
                    ups.push(index);
                } else {
                    for host in (0..hosts).filter(|&host| fabric.leaf_of(host) == to) {
                        below[host as usize] = index;
                    }
                }
            }
            up.push(ups);
        }
        let connection = |flow: &Flow| Connection {
            una: 0,
            next: 0,
            size_bytes: flow.size_bytes,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            window_end: 0,
            recover: 0,
            timeout_ps: NEVER,
            expected: 0,
            duplicates: 0,
            src: flow.src,
            dst: flow.dst,
        };
        let leaves = (ports.len() + 1).next_power_of_two();
        Self {
            tree: vec![NEVER; 2 * leaves],
            bits: leaves.trailing_zeros(),
            now_ps: 0,
            host_port: (0..hosts).map(|host| fabric.ports_of(host)[0]).collect(),
            ports,
            packets: Vec::new(),
            free: Vec::new(),
            connections: flows.iter().map(connection).collect(),
            timeouts: BinaryHeap::new(),
            hosts,
            down,
            up,
            totals: Totals { packet_hops: 0, finished: 0 },
        }
    }

    fn run(&mut self, flows: &[Flow]) {
        let mut starts: Vec<(u64, u32)> = (0..)
            .zip(flows)
            .map(|(index, flow)| match flow.start {
                Start::At(at_ps) => (at_ps, index),
                Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => {
                    panic!("the bare loop waits for no flow")
                }
            })
            .collect();
        starts.sort_unstable();
        let mut starts = starts.into_iter().peekable();
        while self.totals.finished < flows.len() {
            let start_ps = starts.peek().map_or(NEVER, |start| start.0);
            let timeout_ps = self.timeouts.peek().map_or(NEVER, |timeout| timeout.0.0);
            self.set(TIMERS, start_ps.min(timeout_ps));
            // Until a timer's turn, or a new earliest timeout.
            loop {
                let key = self.tree[1];
                self.now_ps = key >> self.bits;
                let source = key as usize & ((1 << self.bits) - 1);
                if source == TIMERS {
                    break;
                }
                self.arrive(source - 1);
                if self.totals.finished == flows.len() {
                    return;
                }
            }
            if start_ps <= timeout_ps {
                if let Some((_, flow)) = starts.next() {
                    self.send(flow);
                }
            } else if let Some(Reverse((_, flow))) = self.timeouts.pop() {
                self.time_out(flow);
            }
        }
    }

    /// The next event of a source.
    #[inline(always)]
    fn set(&mut self, source: usize, at_ps: u64) {
        let mut key = if at_ps == NEVER { NEVER } else { at_ps << self.bits | source as u64 };
        let mut node = (1 << self.bits) + source;
        while node > 1 {
            self.tree[node] = key;
            key = key.min(self.tree[node ^ 1]);
            node >>= 1;
        }
        self.tree[1] = key;
    }

    #[inline(always)]
    fn arrive(&mut self, port: usize) {
        let egress = &mut self.ports[port];
        let Some((_, id)) = egress.ring.pop_front() else { return };
        let (next_ps, node) = (egress.ring.front().map_or(NEVER, |first| first.0), egress.to);
        self.set(port + 1, next_ps);
        let packet = self.packets[id as usize];
        if node < self.hosts {
            self.free.push(id);
            return if packet.is_ack { self.acknowledged(packet) } else { self.received(packet) };
        }
        let switch = (node - self.hosts) as usize;
        let down = self.down[switch][packet.destination as usize];
        let port = if down == NONE {
            let ups = &self.up[switch];
            let hash = (packet.flow ^ node).wrapping_mul(0x9e37_79b9);
            ups[((u64::from(hash) * ups.len() as u64) >> 32) as usize]
        } else {
            down
        };
        self.enqueue(port, id);
    }

    #[inline(always)]
    fn enqueue(&mut self, port: u32, id: u32) {
        let egress = &mut self.ports[port as usize];
        let packet = &mut self.packets[id as usize];
        let backlog_ps = egress.free_ps.saturating_sub(self.now_ps);
        let frame_ps = egress.serialization.frame_ps(u32::from(packet.frame_bytes) + GAP_BYTES as u32);
        if backlog_ps + frame_ps > egress.full_ps {
            self.free.push(id);
            return;
        }
        packet.marked |= backlog_ps >= egress.mark_ps && !packet.is_ack;
        egress.free_ps = egress.free_ps.max(self.now_ps) + frame_ps;
        let arrive_ps = egress.free_ps + egress.delay_ps;
        let alone = egress.ring.is_empty();
        egress.ring.push_back((arrive_ps, id));
        self.totals.packet_hops += 1;
        if alone {
            self.set(port as usize + 1, arrive_ps);
        }
    }

    #[inline(always)]
    fn emit(&mut self, host: u32, packet: Packet) {
        let id = if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            id
        } else {
            self.packets.push(packet);
            self.packets.len() as u32 - 1
        };
        self.enqueue(self.host_port[host as usize], id);
    }

    fn received(&mut self, packet: Packet) {
        let connection = &mut self.connections[packet.flow as usize];
        if packet.seq == connection.expected {
            connection.expected += u64::from(packet.payload_bytes);
        }
        let (seq, src, dst) = (connection.expected, connection.src, connection.dst);
        let ack = Packet {
            seq,
            flow: packet.flow,
            destination: src,
            payload_bytes: 0,
            frame_bytes: HEADER_BYTES.max(FRAME_BYTES_MIN) as u16,
            marked: packet.marked,
            is_ack: true,
        };
        self.emit(dst, ack);
    }

    fn acknowledged(&mut self, packet: Packet) {
        let connection = &mut self.connections[packet.flow as usize];
        if connection.una >= connection.size_bytes {
            return;
        }
        if packet.seq > connection.una {
            let acked = packet.seq - connection.una;
            connection.una = packet.seq;
            connection.next = connection.next.max(packet.seq);
            connection.duplicates = 0;
            connection.acked += acked;
            connection.marked += if packet.marked { acked } else { 0 };
            if connection.una > connection.window_end {
                let fraction = connection.marked as f64 / connection.acked as f64;
                connection.alpha += GAIN * (fraction - connection.alpha);
                if connection.marked > 0 {
                    connection.window =
                        (connection.window * (1.0 - connection.alpha / 2.0)).max(2.0 * PAYLOAD_BYTES as f64);
                    connection.threshold = connection.window;
                }
                (connection.acked, connection.marked) = (0, 0);
                connection.window_end = connection.next;
            }
            let grown = if connection.window < connection.threshold {
                acked as f64
            } else {
                PAYLOAD_BYTES as f64 * acked as f64 / connection.window
            };
            connection.window = (connection.window + grown).min(WINDOW_MAX);
            connection.timeout_ps = self.now_ps + TIMEOUT_PS;
            if connection.una >= connection.size_bytes {
                self.totals.finished += 1;
                return;
            }
        } else {
            connection.duplicates += 1;
            if connection.duplicates == DUPLICATES && connection.una >= connection.recover {
                connection.recover = connection.next;
                connection.window = (connection.window / 2.0).max(2.0 * PAYLOAD_BYTES as f64);
                connection.threshold = connection.window;
                connection.next = connection.una;
            }
        }
        self.send(packet.flow);
    }

    fn time_out(&mut self, flow: u32) {
        let connection = &mut self.connections[flow as usize];
        if connection.una >= connection.size_bytes {
            return;
        }
        if connection.timeout_ps > self.now_ps {
            self.timeouts.push(Reverse((connection.timeout_ps, flow)));
            return;
        }
        connection.recover = connection.next;
        connection.threshold = (connection.window / 2.0).max(2.0 * PAYLOAD_BYTES as f64);
        connection.window = PAYLOAD_BYTES as f64;
        connection.next = connection.una;
        connection.timeout_ps = NEVER;
        self.send(flow);
    }

    /// Sends what the window allows.
    fn send(&mut self, flow: u32) {
        loop {
            let connection = &mut self.connections[flow as usize];
            let payload = (connection.size_bytes - connection.next).min(PAYLOAD_BYTES);
            if payload == 0
                || (connection.next + payload - connection.una) as f64
                    > connection.window.max(PAYLOAD_BYTES as f64)
            {
                return;
            }
            if connection.timeout_ps == NEVER {
                connection.timeout_ps = self.now_ps + TIMEOUT_PS;
                self.timeouts.push(Reverse((connection.timeout_ps, flow)));
            }
            let packet = Packet {
                seq: connection.next,
                flow,
                destination: connection.dst,
                payload_bytes: payload as u16,
                frame_bytes: (payload + HEADER_BYTES).max(FRAME_BYTES_MIN) as u16,
                marked: false,
                is_ack: false,
            };
            let src = connection.src;
            connection.next += payload;
            self.emit(src, packet);
        }
    }
}

const NONE: u32 = u32::MAX;
