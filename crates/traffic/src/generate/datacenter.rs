//! Datacenter: racks of hosts with one role each, services on few ports, clients on ephemeral ones.
//!
//! Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, observed that a machine has one role,
//! that a rack has one kind of machine, and that most traffic leaves the rack. The numbers below are our own choice.
//! Not modelled: popular objects, client and server of one request tree, sizes that depend on the service.

use super::Endpoints;
use crate::random::Stream;
use anabranch_split::{FiveTuple, protocol};

const PODS: u64 = 8;
const RACKS_PER_POD: u64 = 16;
const HOSTS_PER_RACK: u64 = 32;
const HOSTS: u64 = PODS * RACKS_PER_POD * HOSTS_PER_RACK;
/// Linux's range of ephemeral ports (`net.ipv4.ip_local_port_range`).
const EPHEMERAL: std::ops::Range<u16> = 32_768..61_000;
/// Largest number of connections: below a thousandth of the client ports towards the rarest service, so that few draws
/// repeat.
pub(super) const CONNECTIONS_MAX: u64 = 1 << 24;

struct Service {
    port: u16,
    protocol: u8,
    weight: u32,
}

const fn service(port: u16, protocol: u8, weight: u32) -> Service {
    Service { port, protocol, weight }
}

/// Services, with weights in percent of connections: HTTPS, HTTP, MySQL, Redis, Kafka, HDFS, then memcached and DNS
/// over UDP.
const SERVICES: [Service; 8] = [
    service(443, protocol::TCP, 25),
    service(80, protocol::TCP, 15),
    service(3306, protocol::TCP, 15),
    service(6379, protocol::TCP, 15),
    service(9092, protocol::TCP, 10),
    service(50010, protocol::TCP, 12),
    service(11211, protocol::UDP, 5),
    service(53, protocol::UDP, 3),
];

#[derive(Debug)]
pub(super) struct Datacenter {
    stream: Stream,
    /// Racks of each service, in the order of [`SERVICES`].
    racks: [Vec<u64>; SERVICES.len()],
}

impl Datacenter {
    pub(super) fn new(seed: u64) -> Self {
        let mut roles = Stream::new(seed, "rack roles");
        let mut racks: [Vec<u64>; SERVICES.len()] = Default::default();
        for rack in 0..PODS * RACKS_PER_POD {
            // The first racks take one service each, so that every service has a rack.
            let role = match SERVICES.get(rack as usize) {
                Some(service) => service,
                None => roles.weighted(&SERVICES, |service| service.weight),
            };
            let at = SERVICES.iter().take_while(|service| service.port != role.port).count();
            racks[at].push(rack);
        }
        Self { stream: Stream::new(seed, "datacenter"), racks }
    }
}

/// Address of a host: 10.pod.rack.host, hosts from one.
fn address(host: u64) -> [u8; 4] {
    let (rack, host) = (host / HOSTS_PER_RACK, host % HOSTS_PER_RACK);
    [10, (rack / RACKS_PER_POD) as u8, (rack % RACKS_PER_POD) as u8, 1 + host as u8]
}

impl Endpoints for Datacenter {
    fn draw(&mut self) -> FiveTuple {
        let numbered: [usize; SERVICES.len()] = std::array::from_fn(|at| at);
        let at = *self.stream.weighted(&numbered, |&at| SERVICES[at].weight);
        let racks = &self.racks[at];
        let rack = racks[self.stream.below(racks.len() as u64) as usize];
        let server = rack * HOSTS_PER_RACK + self.stream.below(HOSTS_PER_RACK);
        // Any other host.
        let client = (server + 1 + self.stream.below(HOSTS - 1)) % HOSTS;
        let port = EPHEMERAL.start + self.stream.below(EPHEMERAL.len() as u64) as u16;
        let Service { port: service, protocol, .. } = SERVICES[at];
        FiveTuple::v4(address(client), address(server), protocol, port, service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_have_their_shares_and_clients_are_spread() {
        let mut datacenter = Datacenter::new(1);
        let n = 200_000;
        let mut counts = [0u32; SERVICES.len()];
        let mut within_rack = 0;
        for _ in 0..n {
            let tuple = datacenter.draw();
            let port = u16::from_be_bytes(tuple.destination_port);
            let at = SERVICES.iter().position(|s| s.port == port).unwrap();
            assert_eq!(tuple.protocol, SERVICES[at].protocol);
            assert!(EPHEMERAL.contains(&u16::from_be_bytes(tuple.source_port)));
            assert_ne!(tuple.source, tuple.destination);
            counts[at] += 1;
            within_rack += u32::from(tuple.source[..3] == tuple.destination[..3]);
        }
        let chi_square: f64 = counts
            .iter()
            .zip(&SERVICES)
            .map(|(&got, service)| {
                let expected = f64::from(n) * f64::from(service.weight) / 100.0;
                (f64::from(got) - expected).powi(2) / expected
            })
            .sum();
        // The 99.9% point of chi-square with seven degrees of freedom.
        assert!(chi_square < 24.32, "{chi_square}");
        let expected = f64::from(n) * 31.0 / 4095.0;
        assert!((f64::from(within_rack) - expected).abs() < 4.0 * expected.sqrt(), "{within_rack}");
    }
}
