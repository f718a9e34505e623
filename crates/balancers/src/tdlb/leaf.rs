//! One leaf under TDLB: what it remembers, and the paths that it sees.

use crate::path_book::Routes;
use crate::switches::source_routes::{SourceRoutes, stream};
use crate::tdlb::parameters::Tdlb;
use crate::tdlb::pick::delays::{Delay, Delays, Pair};
use crate::tdlb::pick::separator::{Cell, Departure, Port, Separator};
use crate::tdlb::pick::{Counts, State, Uplinks};
use anabranch_sim::Network;
use anabranch_split::picks::FlowTable;
use anabranch_split::picks::paths::Paths;
use anabranch_split::picks::store::Heap;
use anabranch_traffic::random::Stream;
use rand_pcg::Pcg32;
use std::collections::HashMap;

/// Packets of each port that a leaf remembers: more than 1.2 MB of frames of 1538 bytes.
const RING: u32 = 1024;
/// Buffer where there is no limit: 300 KB at 10 Gb/s (Luopan, section 4.1), in proportion to the rate.
const BUFFER_BYTES_PER_10_GIG: u64 = 300_000;
/// A delay without a probe for so many periods is not believed.
const PERIODS_BELIEVED: u64 = 3;

/// A leaf.
pub(crate) struct Leaf {
    pub(crate) state: State<FlowTable<u64>, Heap>,
    pub(crate) stream: Pcg32,
    /// Threshold of each local port.
    pub(crate) thresholds: Box<[u32]>,
    pub(crate) clock_offset_ns: i64,
    /// Packets that left here, by slot of their connection.
    pub(crate) left: HashMap<usize, Left>,
    /// Connections that arrived here, by slot: the connection, and the local port to its host.
    pub(crate) arrived: HashMap<usize, (u32, u16)>,
    /// Time at which a packet last left to each other leaf.
    pub(crate) used_ps: Box<[Option<u64>]>,
    /// Time of its next probes.
    pub(crate) alarm_ps: u64,
    /// Time when a packet last left or reached its hosts, and whether probing ended since.
    pub(crate) active_ps: u64,
    pub(crate) is_asleep: bool,
}

/// A stream of packets that left by an uplink.
#[derive(Clone, Copy)]
pub(crate) struct Left {
    pub(crate) connection: u32,
    /// Number of the flow as the scheme knows it.
    pub(crate) flow: u64,
    pub(crate) destination: u32,
}

/// The paths from a leaf to one destination.
#[derive(Clone, Copy)]
pub(crate) struct LeafPaths<'a> {
    pub(crate) routes: &'a Routes,
    pub(crate) local: &'a [u16],
    pub(crate) thresholds: &'a [u32],
}

impl Paths for LeafPaths<'_> {
    #[inline(always)]
    fn living(&self, _destination: u32) -> &[u16] {
        &self.routes.live
    }
}

impl Uplinks for LeafPaths<'_> {
    #[inline(always)]
    fn uplink(&self, _destination: u32, path: u16) -> u16 {
        self.routes.all.get(usize::from(path)).map_or(u16::MAX, |route| self.local[route.ports[0] as usize])
    }

    #[inline(always)]
    fn threshold_bytes(&self, port: u16) -> u32 {
        self.thresholds.get(usize::from(port)).copied().unwrap_or(u32::MAX)
    }
}

impl Leaf {
    pub(crate) fn new(leaf: u32, source: &SourceRoutes, parameters: &Tdlb, seed: u64) -> Self {
        let fabric = source.fabric();
        let ports = fabric.ports_of(fabric.hosts() + source.switch_of(leaf));
        let threshold = |&port: &u32| {
            let port = &fabric.ports()[port as usize];
            let buffer_bytes = match port.buffer.bytes {
                u32::MAX => {
                    let product = u128::from(BUFFER_BYTES_PER_10_GIG) * u128::from(port.rate.bps());
                    (product / 10_000_000_000) as u64
                }
                bytes => bytes.into(),
            };
            parameters.threshold_bytes.unwrap_or(buffer_bytes / 2).min(u32::MAX.into()) as u32
        };
        let cells = if parameters.array > 0 { parameters.array.next_power_of_two() } else { 0 };
        let separator = Separator::new(
            vec![Port::default(); ports.len()].into(),
            vec![Departure::default(); ports.len() * RING as usize].into(),
            RING,
            vec![Cell::default(); cells as usize].into(),
        );
        let leaves = source.leaves() as usize;
        let delays = Delays::new(
            vec![Pair::default(); leaves].into(),
            vec![Delay::default(); leaves * usize::from(source.paths_max())].into(),
            source.paths_max(),
            parameters.rules.algorithm,
            parameters.preference,
            parameters.period_ns.saturating_mul(PERIODS_BELIEVED),
        );
        let mut offset = Stream::of_entity(seed, "clock", leaf);
        let range = parameters.skew_ns.saturating_mul(2).saturating_add(1);
        let clock_offset_ns = (offset.bits() % range) as i64 - parameters.skew_ns as i64;
        Self {
            state: State { flows: FlowTable::default(), separator, delays, counts: Counts::default() },
            stream: stream(seed, "tdlb", leaf),
            thresholds: ports.iter().map(threshold).collect(),
            clock_offset_ns,
            left: HashMap::new(),
            arrived: HashMap::new(),
            used_ps: vec![None; leaves].into(),
            alarm_ps: 0,
            active_ps: 0,
            is_asleep: false,
        }
    }

    /// Time of its clock, modulo 2^32.
    pub(crate) fn clock_ns(&self, network: &Network) -> u32 {
        network.now_ns().wrapping_add_signed(self.clock_offset_ns) as u32
    }
}
