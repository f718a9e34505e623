//! Adversarial kind: one /24 of clients, one server, one port. Only a byte of address and the source port vary.

use super::Endpoints;
use super::port_walk::{PORTS, PortWalk};
use crate::random::Stream;
use anabranch_split::{FiveTuple, protocol};

const CLIENTS: u64 = 254;
/// Largest number of connections: every client with every port.
pub(super) const CONNECTIONS_MAX: u64 = CLIENTS * PORTS;

#[derive(Debug)]
pub(super) struct OneService {
    stream: Stream,
    walks: Vec<PortWalk>,
}

impl OneService {
    pub(super) fn new(seed: u64) -> Self {
        let mut stream = Stream::new(seed, "one service");
        let walks = (0..CLIENTS).map(|_| PortWalk::new(&mut stream)).collect();
        Self { stream, walks }
    }
}

impl Endpoints for OneService {
    fn draw(&mut self) -> FiveTuple {
        loop {
            let client = self.stream.below(CLIENTS);
            if let Some(port) = self.walks[client as usize].next() {
                let source = [10, 1, 1, 1 + client as u8];
                return FiveTuple::v4(source, [10, 2, 0, 1], protocol::TCP, port, 443);
            }
        }
    }
}
