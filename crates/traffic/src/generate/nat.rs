//! Adversarial kind: a network behind one public address, with one source, many ports and few destinations.

use super::Endpoints;
use super::port_walk::{PORTS, PortWalk};
use crate::random::Stream;
use anabranch_split::{FiveTuple, protocol};

const DESTINATIONS: u64 = 16;
/// Transport protocols: web over TCP and over QUIC.
const PROTOCOLS: [u8; 2] = [protocol::TCP, protocol::UDP];
/// Largest number of connections. A port serves again towards another destination, as in Linux's translator: it keeps
/// 5-tuples distinct, not ports.
pub(super) const CONNECTIONS_MAX: u64 = DESTINATIONS * PROTOCOLS.len() as u64 * PORTS;

#[derive(Debug)]
pub(super) struct Nat {
    stream: Stream,
    walks: Vec<PortWalk>,
}

impl Nat {
    pub(super) fn new(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "nat");
        let walks = (0..CONNECTIONS_MAX / PORTS).map(|_| PortWalk::new(&mut stream)).collect();
        Self { stream, walks }
    }
}

impl Endpoints for Nat {
    fn draw(&mut self) -> FiveTuple {
        loop {
            let pair = self.stream.below(self.walks.len() as u64);
            if let Some(port) = self.walks[pair as usize].next() {
                let destination = [198, 51, 100, 1 + (pair % DESTINATIONS) as u8];
                let protocol = PROTOCOLS[(pair / DESTINATIONS) as usize];
                return FiveTuple::v4([203, 0, 113, 7], destination, protocol, port, 443);
            }
        }
    }
}
