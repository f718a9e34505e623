//! Adversarial kind: source ports that count up, as from a load generator; then the next client address.

use super::Endpoints;
use super::port_walk::{FIRST_PORT, PORTS};
use anabranch_split::{FiveTuple, protocol};

/// Largest number of connections: a /16 of clients, each with every port.
pub(super) const CONNECTIONS_MAX: u64 = PORTS << 16;

#[derive(Debug, Default)]
pub(super) struct SequentialPorts {
    drawn: u64,
}

impl Endpoints for SequentialPorts {
    fn draw(&mut self) -> FiveTuple {
        let [high, low] = ((self.drawn / PORTS) as u16).to_be_bytes();
        let port = FIRST_PORT + (self.drawn % PORTS) as u16;
        self.drawn += 1;
        FiveTuple::v4([10, 1, high, low], [10, 2, 0, 1], protocol::TCP, port, 80)
    }
}
