//! Load: the number of flows a second that makes a fraction of a capacity.
//!
//! Load counts payload, as the field's generators do (TrafficGenerator and the simulations that descend from it: lambda
//! = load * capacity / (8 * mean size)). On the wire there is more: headers, preamble and gap add 6.2% to full Ethernet
//! frames, and acknowledgements come on top.
//!
//! Only traffic that must cross the reference links counts, and of the capacity only the links that such traffic can
//! use:
//!
//! | reference | payload that counts | capacity |
//! |---|---|---|
//! | host | all | links of hosts that send, or of hosts that receive, whichever are less |
//! | uplink | between racks | links upwards from leaves that send, or downwards to leaves that receive, whichever are less |
//! | bisection | between the halves of the leaves | the largest flow between the halves, in each direction in use |
//!
//! So a load of 0.6 on the uplinks means that their mean utilisation by payload is 0.6, whatever share of the pairs
//! stays inside a rack; and traffic into one pod is measured at that pod's entrance. A fabric without uplinks is
//! measured at its hosts.

use crate::TrafficError;
use crate::pattern::Senders;
use anabranch_fabric::capacity::{Reference, bisection_bps};
use anabranch_fabric::{Fabric, Racks, Tier};

/// Offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Fraction of the capacity, above zero.
    pub fraction: f64,
    /// Capacity that the fraction refers to.
    pub reference: Reference,
    /// Capacity in bits per second if it is not the one as built: for example, what remains after a failure.
    pub capacity_bps: Option<f64>,
}

impl Load {
    /// Flows a second of all senders together; all senders have the same rate.
    pub(crate) fn flows_per_s(
        &self,
        fabric: &Fabric,
        senders: &Senders,
        mean_bytes: f64,
    ) -> Result<f64, TrafficError> {
        if !(self.fraction > 0.0 && self.fraction.is_finite()) {
            return Err(TrafficError::new(
                "load",
                self.fraction.to_string(),
                "give a fraction of the reference capacity above 0, such as 0.6",
            ));
        }
        let counted = counted(fabric, senders, self.reference);
        if counted.share == 0.0 {
            return Err(TrafficError::new(
                "reference",
                format!("{}: no flow of this pattern passes it", name(self.reference)),
                "measure the load at the hosts: reference host",
            ));
        }
        let capacity_bps = self.capacity_bps.unwrap_or(counted.capacity_bps);
        if !(capacity_bps > 0.0 && capacity_bps.is_finite()) {
            return Err(TrafficError::new(
                "capacity",
                format!("{capacity_bps} bit/s"),
                "give a capacity above 0",
            ));
        }
        Ok(self.fraction * capacity_bps / (8.0 * mean_bytes * counted.share))
    }
}

/// Name of a reference, as users write it.
#[must_use]
pub fn name(reference: Reference) -> &'static str {
    match reference {
        Reference::Uplink => "uplink",
        Reference::Host => "host",
        Reference::Bisection => "bisection",
    }
}

/// Traffic and capacity that a load refers to, for one pattern.
struct Counted {
    /// Share of the flows that counts.
    share: f64,
    capacity_bps: f64,
}

fn counted(fabric: &Fabric, senders: &Senders, reference: Reference) -> Counted {
    let racks = Racks::of(fabric);
    let rack = |host: u32| racks.of[host as usize] as usize;
    let rate_bps = |port: u32| fabric.ports()[port as usize].rate.bps() as f64;
    match reference {
        Reference::Uplink => {
            let crossing = senders.crossing(racks.leaves.len(), rack);
            // Links between leaves and other switches, in one direction; network cards belong to hosts.
            let is_above = |port: u32| {
                let to = fabric.ports()[port as usize].to;
                to >= fabric.hosts() && fabric.nodes()[to as usize].tier != Tier::Nic
            };
            let links_bps = |of: &[bool], down: bool| -> f64 {
                let used = racks.leaves.iter().zip(of).filter(|(_, used)| **used);
                let ports = used.flat_map(|(leaves, _)| leaves).flat_map(|&leaf| fabric.ports_of(leaf));
                let up = ports.filter(|&&port| is_above(port));
                up.map(|&port| rate_bps(if down { fabric.ports()[port as usize].reverse } else { port }))
                    .sum()
            };
            if racks.leaves.len() < 2 {
                return counted(fabric, senders, Reference::Host);
            }
            let capacity_bps = links_bps(&crossing.left, false).min(links_bps(&crossing.reached, true));
            Counted { share: crossing.share, capacity_bps }
        }
        Reference::Host => {
            let once = |hosts: &mut dyn Iterator<Item = u32>| {
                let mut hosts: Vec<u32> = hosts.collect();
                hosts.sort_unstable();
                hosts.dedup();
                hosts
            };
            let sending = once(&mut senders.senders.iter().map(|sender| sender.host));
            let receiving = once(&mut senders.receivers());
            let out_bps: f64 = sending.iter().map(|&host| rate_bps(fabric.ports_of(host)[0])).sum();
            let port_in = |host: u32| fabric.ports()[fabric.ports_of(host)[0] as usize].reverse;
            let in_bps: f64 = receiving.iter().map(|&host| rate_bps(port_in(host))).sum();
            Counted { share: 1.0, capacity_bps: out_bps.min(in_bps) }
        }
        Reference::Bisection => {
            let half = |host: u32| usize::from(rack(host) >= racks.leaves.len() / 2);
            let crossing = senders.crossing(2, half);
            let directions = crossing.left.iter().filter(|&&left| left).count();
            let capacity_bps = (bisection_bps(fabric) * directions as u64) as f64;
            Counted { share: crossing.share, capacity_bps }
        }
    }
}
