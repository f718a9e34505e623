//! Small simulations with captured ports.

use anabranch_balancers::{Balancing, Settings, simulate};
use anabranch_fabric::Fabric;
use anabranch_fabric::topology::LeafSpine;
use anabranch_sim::transport::{Control, Reorder, Tcp, Transport, Udp};
use anabranch_sim::{CapturedPacket, Framing, Nic, Observe, Packet, Progress};
use anabranch_traffic::{Flow, Ports, Start};

pub(crate) const PS_PER_US: u64 = 1_000_000;

pub(crate) fn tcp() -> Tcp {
    Tcp {
        control: Control::NewReno,
        initial_window: 10,
        window_max_bytes: 1 << 20,
        sack: true,
        dup_ack_threshold: 3,
        rack: false,
        dsack: false,
        ack_every: 2,
        ack_delay_ps: 100 * PS_PER_US,
        rto_min_ps: 5_000 * PS_PER_US,
        rto_initial_ps: 5_000 * PS_PER_US,
        rto_max_ps: 1_000_000 * PS_PER_US,
        ecn: false,
        handshake: true,
        persistent: false,
        reorder: Reorder::None,
        pace: None,
        payload_bytes_max: None,
    }
}

pub(crate) fn udp() -> Transport {
    Transport::Udp(Udp {
        rate: anabranch_fabric::Rate::from_bps(1_000_000_000).unwrap(),
        payload_bytes_max: None,
    })
}

/// Two leaves of two hosts, two spines, two links between each leaf and each spine. Host h's port is 2h, its leaf's
/// towards it 2h + 1; leaf 0's four uplinks are 8, 10, 12, 14.
pub(crate) fn fabric() -> Fabric {
    LeafSpine { leaves: 2, spines: 2, hosts_per_leaf: 2, parallel_links: 2, ..LeafSpine::default() }
        .build()
        .unwrap()
}

pub(crate) fn flow(src: u32, dst: u32, size_bytes: u64) -> Flow {
    Flow {
        src,
        dst,
        size_bytes,
        start: Start::At(0),
        path: None,
        job: None,
        transport: 0,
        ports: Ports::CHOSEN,
    }
}

pub(crate) fn settings(transports: Vec<Transport>, capture_ports: &[u32]) -> Settings {
    Settings {
        seed: 1,
        balancing: Balancing::ECMP,
        transports,
        works: Vec::new(),
        replay: None,
        nic: Nic::FIFO,
        framing: Framing::ETHERNET,
        changes: Vec::new(),
        routing_delay_ps: 0,
        switch_hashes: Vec::new(),
        end_ps: 1_000_000 * PS_PER_US,
        observe: Observe {
            capture_ports: capture_ports.to_vec(),
            capture_packets_max: u64::MAX,
            ..Observe::default()
        },
    }
}

pub(crate) fn captures(fabric: &Fabric, flows: &[Flow], settings: &Settings) -> Vec<CapturedPacket> {
    simulate(fabric, flows, settings, &Progress::default()).unwrap().captures
}

/// Segment that tests modify.
pub(crate) fn data(connection: u32) -> Packet {
    Packet { connection, frame_bytes: 70, ..Packet::default() }
}
