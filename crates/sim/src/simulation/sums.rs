//! Sums of a run, or of one part of the fabric in it.

use super::Simulation;
use crate::door::SwitchBalancer;
use crate::{PortRecord, Totals};
use std::ops::AddAssign;

/// Declares [`Sums`] by its numbers, each of which adds up over the parts of a fabric.
macro_rules! sums {
    ($($(#[doc = $meaning:literal])+ $sum:ident,)+) => {
        /// Numbers that add up over the parts of a fabric.
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct Sums { $($(#[doc = $meaning])+ pub(super) $sum: u64,)+ }

        impl AddAssign for Sums {
            fn add_assign(&mut self, other: Self) {
                $(self.$sum += other.$sum;)+
            }
        }
    };
}

sums! {
    /// Events.
    events,
    /// Flows that finished.
    finished,
    /// Packets sent.
    sent,
    /// Packets delivered.
    delivered,
    /// Packets that meters dropped.
    policed,
    /// Headers of trimmed packets that reached hosts.
    headers_arrived,
    /// Packets without a path.
    unroutable,
    /// Packets that blackholes swallowed.
    blackholed,
    /// Messages of load balancers.
    probes,
    /// Bytes of those between switches, link by link.
    probe_link_bytes,
    /// Segments that receivers discarded.
    discarded,
    /// RNR NAKs.
    not_ready,
    /// Packets left in the fabric.
    packets_left,
}

impl Sums {
    /// Totals of a run with these records of ports, except for the most that there were at once of anything.
    pub(super) fn totals(&self, ports: &[PortRecord], end_ps: u64) -> Totals {
        let sum = |count: fn(&PortRecord) -> u64| ports.iter().map(count).sum::<u64>();
        Totals {
            packet_hops: sum(|record| record.sent_packets),
            events: self.events,
            end_ps,
            flows_finished: self.finished,
            sent_packets: self.sent,
            delivered_packets: self.delivered,
            dropped_packets: self.policed + self.headers_arrived + sum(|record| record.dropped_packets),
            lost_packets: self.unroutable + self.blackholed + sum(|record| record.lost_packets),
            marked_packets: sum(|record| record.marked_packets),
            packets_left: self.packets_left,
            ..Totals::default()
        }
    }

    /// Counts that are not zero, each with its meaning.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = [
            ("probes sent", self.probes),
            ("bytes of probes between switches, over all links", self.probe_link_bytes),
            ("packets dropped by meters", self.policed),
            ("headers of trimmed packets that reached hosts", self.headers_arrived),
            ("packets without a path to their destination", self.unroutable),
            ("segments that receivers discarded: behind a gap, or without a posted receive", self.discarded),
            ("RNR NAKs: sends that came before their receive was posted", self.not_ready),
        ];
        counts.into_iter().filter(|&(_, count)| count > 0)
    }
}

impl<B: SwitchBalancer> Simulation<'_, B> {
    /// Sums of the run, or of its part of the fabric.
    pub(super) fn sums(&self) -> Sums {
        let network = &self.network;
        Sums {
            events: self.events_so_far() - self.hosts.remote.as_ref().map_or(0, |remote| remote.repeated),
            finished: self.hosts.finished,
            sent: network.sent,
            delivered: network.delivered,
            policed: network.policed,
            headers_arrived: network.headers_arrived,
            unroutable: network.unroutable,
            blackholed: network.blackholed,
            probes: network.probes,
            probe_link_bytes: network.probe_link_bytes,
            discarded: self.hosts.refused.discarded,
            not_ready: self.hosts.refused.not_ready,
            packets_left: network.packets_here() as u64,
        }
    }
}
