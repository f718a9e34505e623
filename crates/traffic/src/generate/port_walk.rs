//! Source ports in a scattered order, each once.

use crate::random::Stream;

/// First of the ports that a client may use (RFC 6056 section 3.2): 1024 to 65535.
pub(super) const FIRST_PORT: u16 = 1024;
/// Number of ports that a client may use.
pub(super) const PORTS: u64 = 65_536 - FIRST_PORT as u64;

/// Walk through all ports, with a stride that shares no factor with their number.
#[derive(Debug)]
pub(super) struct PortWalk {
    at: u64,
    stride: u64,
    left: u64,
}

impl PortWalk {
    pub(super) fn new(stream: &mut Stream) -> Self {
        let at = stream.below(PORTS);
        // 64512 = 2^10 * 3^2 * 7: two numbers in seven will do.
        let stride = loop {
            let stride = stream.below(PORTS);
            if ![2, 3, 7].iter().any(|&factor| stride.is_multiple_of(factor)) {
                break stride;
            }
        };
        Self { at, stride, left: PORTS }
    }
}

impl Iterator for PortWalk {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        self.left = self.left.checked_sub(1)?;
        let port = FIRST_PORT + self.at as u16;
        self.at = (self.at + self.stride) % PORTS;
        Some(port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_occurs_once() {
        for seed in 0..20 {
            let mut ports: Vec<u16> = PortWalk::new(&mut Stream::new(seed, "test of ports")).collect();
            ports.sort_unstable();
            assert!(ports.into_iter().eq(FIRST_PORT..=u16::MAX));
        }
    }
}
