//! Paths that header fields lead to, without a simulation.

use crate::door::{HostBalancer, SwitchBalancer};
use crate::forwarding::{Forwarding, Step};
use crate::headers::Headers;
use crate::network::Network;
use crate::{Header, Packet, Settings, SimulationError};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::Weighing;

/// Ports between switches that packets with each of `headers` take when a run begins, changes at its very beginning
/// included. Nothing for packets that do not arrive.
///
/// # Errors
/// A load balancer that does not choose by hashes of header fields, and weights that it cannot hold.
pub fn walk<B: SwitchBalancer, C>(
    balancer: B,
    weighing: Weighing,
    fabric: &Fabric,
    settings: &Settings<C>,
    headers: &[Header],
) -> Result<Vec<Vec<u32>>, SimulationError> {
    check_hashes(&balancer, None, settings)?;
    let mut forwarding = Forwarding::new(fabric, weighing, balancer)?;
    let mut links = LinkState::of(fabric);
    for change in settings.changes.iter().filter(|change| change.at_ps == 0) {
        links.apply(change.what);
    }
    if links != LinkState::of(fabric) {
        forwarding.reroute(fabric, &links, &links)?;
    }
    let mut network = Network::new(fabric, settings.framing, &settings.nic, settings.seed);
    network.headers = Some(Box::new(Headers::known(settings.switch_hashes.clone(), headers)));
    let (hosts, nodes) = (fabric.hosts(), fabric.nodes().len());
    let mut path_of = |(number, header): (u32, &Header)| {
        let packet = Packet { destination: header.destination, entropy: number, ..Packet::default() };
        let id = network.packets.insert(packet);
        let mut path = Vec::new();
        let mut node = fabric.ports()[fabric.ports_of(header.source)[0] as usize].to;
        // No path visits a switch twice.
        for _ in 0..nodes {
            let Step::Port(port) = forwarding.forward(node - hosts, id, &mut network) else { break };
            node = fabric.ports()[port as usize].to;
            if node < hosts {
                network.packets.free(id);
                return path;
            }
            path.push(port);
        }
        network.packets.free(id);
        Vec::new()
    };
    Ok((0..).zip(headers).map(&mut path_of).collect())
}

/// Refuses hashes of header fields where the load balancer does not choose by them alone.
///
/// # Errors
/// There are hashes, and it does not.
pub(crate) fn check_hashes<B: SwitchBalancer, C>(
    balancer: &B,
    host: Option<&dyn HostBalancer>,
    settings: &Settings<C>,
) -> Result<(), SimulationError> {
    if settings.switch_hashes.is_empty() || host.is_none() && balancer.hashes_headers() {
        return Ok(());
    }
    Err(SimulationError::no_header_hash())
}
