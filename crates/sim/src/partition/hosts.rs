//! Values of a host balancer, one for each part of the fabric.

use super::{Part, Partition, sums};
use crate::door::{HostBalancer, Opened};
use crate::network::{Address, Network};
use crate::{Packet, SimulationError};
use anabranch_fabric::{Fabric, LinkState};

/// Values that together serve all hosts.
pub struct PartitionedHosts {
    part_of: Vec<u32>,
    parts: Vec<Part<Box<dyn HostBalancer>>>,
}

impl PartitionedHosts {
    /// As many values as `partition` has parts.
    ///
    /// # Errors
    /// Those of `make`, which makes one.
    pub fn new(
        partition: &Partition,
        fabric: &Fabric,
        make: &mut dyn FnMut() -> Result<Box<dyn HostBalancer>, SimulationError>,
    ) -> Result<Self, SimulationError> {
        let part_of = partition.part_of_host.clone();
        let parts = Part::all(fabric, &part_of, 0, make)?;
        Ok(Self { part_of, parts })
    }

    fn part(&mut self, host: u32) -> &mut Part<Box<dyn HostBalancer>> {
        &mut self.parts[self.part_of[host as usize] as usize]
    }
}

impl HostBalancer for PartitionedHosts {
    fn send(&mut self, from: &Address, packet: &mut Packet, network: &mut Network) {
        self.part(from.host).call(network, |balancer, network| balancer.send(from, packet, network));
    }

    fn begin(&mut self, host: u32, network: &mut Network) {
        self.part(host).call(network, |balancer, network| balancer.begin(host, network));
    }

    fn opened(&mut self, host: u32, flow: &Opened, network: &mut Network) {
        self.part(host).call(network, |balancer, network| balancer.opened(host, flow, network));
    }

    fn receive(&mut self, host: u32, packet: &mut Packet, network: &mut Network) {
        self.part(host).call(network, |balancer, network| balancer.receive(host, packet, network));
    }

    fn probe(&mut self, host: u32, packet: &Packet, network: &mut Network) {
        self.part(host).call(network, |balancer, network| balancer.probe(host, packet, network));
    }

    fn timed_out(&mut self, from: &Address, network: &mut Network) {
        self.part(from.host).call(network, |balancer, network| balancer.timed_out(from, network));
    }

    fn closed(&mut self, host: u32, connection: u32) {
        self.part(host).balancer.closed(host, connection);
    }

    fn timer(&mut self, host: u32, token: u32, network: &mut Network) {
        self.part(host).call(network, |balancer, network| balancer.timer(host, token, network));
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        sums(self.parts.iter().map(|part| part.balancer.counts()))
    }

    fn links_changed(&mut self, links: &LinkState, network: &mut Network) {
        for part in &mut self.parts {
            part.call(network, |balancer, network| balancer.links_changed(links, network));
        }
    }
}
