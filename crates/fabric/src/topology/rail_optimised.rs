//! Rail-optimised: accelerator number i of every server of a segment hangs on leaf number i, its rail; spines join all
//! leaves.

use super::LinkSettings;
use super::builder::Builder;
use crate::{Buffer, Fabric, FabricError, Marking, Rate, Servers, Tier};

/// Rail-optimised fabric, as NVIDIA's DGX SuperPOD and Alibaba's HPN (SIGCOMM 2024) build it. Every accelerator has a
/// network card of its own and a port into its server's scale-up switch (NVLink, UALink), which joins the accelerators of
/// that server and nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct RailOptimised {
    /// Number of segments (scalable units), each with its own leaves.
    pub segments: u32,
    /// Number of servers of each segment.
    pub servers_per_segment: u32,
    /// Number of accelerators of each server, which is that of the leaves of each segment.
    pub accelerators_per_server: u32,
    /// Number of spines, each linked to every leaf.
    pub spines: u32,
    /// Settings of the links between network cards and leaves.
    pub host_link: LinkSettings,
    /// Settings of the links between leaves and spines.
    pub uplink: LinkSettings,
    /// Settings of the links between accelerators and their server's scale-up switch.
    pub scale_up: LinkSettings,
}

impl Default for RailOptimised {
    fn default() -> Self {
        Self {
            segments: 1,
            servers_per_segment: 4,
            accelerators_per_server: 8,
            spines: 4,
            host_link: LinkSettings::default(),
            uplink: LinkSettings::default(),
            scale_up: Self::SCALE_UP,
        }
    }
}

impl RailOptimised {
    /// A link of the fourth generation of NVLink, 450 GB/s each way. It pauses a sender for want of room (credits), so
    /// nothing is dropped.
    pub const SCALE_UP: LinkSettings = LinkSettings {
        rate: const { Rate::from_bps(3_600_000_000_000).expect("a rate in range") },
        delay_ps: 500_000,
        buffer: Buffer::UNLIMITED,
        marking: Marking::Off,
    };

    /// Builds network cards server by server, scale-up ports in the same order, leaves segment by segment, spines, then
    /// scale-up switches; links in the order of their lower ends.
    ///
    /// # Errors
    /// Refuses a count of zero, and too many nodes or links.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let Self { segments, servers_per_segment, accelerators_per_server, spines, .. } = *self;
        let counts = [
            ("segments", segments),
            ("servers_per_segment", servers_per_segment),
            ("accelerators_per_server", accelerators_per_server),
            ("spines", spines),
        ];
        let [g, s, a, p] = counts.map(|(_, count)| u128::from(count));
        let nodes = g * s * (2 * a + 1) + g * a + p;
        let mut builder = Builder::new(&counts, nodes, 2 * g * s * a + g * a * p)?;
        let servers = segments * servers_per_segment;
        let (accelerators, leaves) = (servers * accelerators_per_server, segments * accelerators_per_server);
        let segment_of = |server: u32| server / servers_per_segment;
        for (name, number) in
            ["host", "scaleup"].into_iter().flat_map(|name| (0..accelerators).map(move |n| (name, n)))
        {
            let segment = segment_of(number / accelerators_per_server);
            builder.node(format!("{name}{number}"), Tier::Host, Some(segment));
        }
        for leaf in 0..leaves {
            let segment = leaf / accelerators_per_server;
            builder.node(
                format!("leaf{segment}.{}", leaf % accelerators_per_server),
                Tier::Leaf,
                Some(segment),
            );
        }
        for spine in 0..spines {
            builder.node(format!("spine{spine}"), Tier::Spine, None);
        }
        for server in 0..servers {
            builder.node(format!("server{server}"), Tier::Server, Some(segment_of(server)));
        }
        let first_leaf = 2 * accelerators;
        let (first_spine, first_server) = (first_leaf + leaves, first_leaf + leaves + spines);
        for accelerator in 0..accelerators {
            let (server, rail) =
                (accelerator / accelerators_per_server, accelerator % accelerators_per_server);
            let leaf = first_leaf + segment_of(server) * accelerators_per_server + rail;
            builder.link(accelerator, leaf, &self.host_link);
        }
        for accelerator in 0..accelerators {
            let server = first_server + accelerator / accelerators_per_server;
            builder.link(accelerators + accelerator, server, &self.scale_up);
        }
        for leaf in 0..leaves {
            for spine in 0..spines {
                builder.link(first_leaf + leaf, first_spine + spine, &self.uplink);
            }
        }
        let servers: Vec<_> =
            (0..accelerators).map(|number| Some(number / accelerators_per_server)).collect();
        Ok(builder.build()?.with_servers(Servers::new(&servers)))
    }
}
