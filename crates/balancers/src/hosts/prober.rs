//! Probes between hosts of two racks: packets that come back, with their round trip and whether they were marked.

use crate::hosts::few_paths::{Few, Fork};
use anabranch_sim::{Kind, Network, Packet, marks};
use anabranch_split::Env;
use anabranch_split::picks::relay::{PATHS, Tag};

/// Bytes of a probe and of its answer: the shortest frame.
const FRAME_BYTES: u16 = 64;

/// One pair of racks, seen from the host that probes for its rack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prober {
    pub(crate) host: u32,
    /// Path with the shortest round trip of the round before, and of this one.
    best: Option<u16>,
    shortest: Option<(u32, u16)>,
}

/// Result of a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) path: u16,
    pub(crate) rtt_ns: u32,
    pub(crate) marked: bool,
}

impl Prober {
    pub(crate) const fn new(host: u32) -> Self {
        Self { host, best: None, shortest: None }
    }

    /// The paths of the next round: two living ones at random, and the best of the last.
    pub(crate) fn round(&mut self, env: &mut Fork<'_>) -> impl Iterator<Item = u16> + use<> {
        self.best = self.shortest.take().map(|(_, path)| path);
        let living = env.alive.count_ones();
        let drawn = match living {
            0 => [None; 2],
            1 => [Some(0), None],
            _ => {
                let one = anabranch_split::random_below(env, living);
                [Some(one), Some((one + 1 + anabranch_split::random_below(env, living - 1)) % living)]
            }
        };
        let alive = env.alive;
        let nth = move |n: u32| (0..PATHS as u16).filter(|path| alive >> path & 1 != 0).nth(n as usize);
        let drawn = drawn.map(|number| number.and_then(nth));
        let best = self.best.filter(|&best| env.up(best) && !drawn.contains(&Some(best)));
        drawn.into_iter().chain([best]).flatten()
    }

    /// An answer came.
    pub(crate) fn hear(&mut self, finding: Finding) {
        if self.shortest.is_none_or(|(rtt_ns, _)| finding.rtt_ns < rtt_ns) {
            self.shortest = Some((finding.rtt_ns, finding.path));
        }
    }
}

/// Sends a probe from one host to another by a path. `port` is the sender's.
pub(crate) fn ask((host, port): (u32, u32), to: u32, path: u16, few: &Few, network: &mut Network) {
    let Some(&labels) = few.labels.get(usize::from(path)) else { return };
    let probe = Packet {
        kind: Kind::HostProbe,
        connection: host,
        destination: to,
        labels,
        marks: marks::LABELLED | marks::CAPABLE,
        tag: Tag::new(path).0,
        stamp_ns: network.now_ns() as u32,
        frame_bytes: FRAME_BYTES,
        ..Packet::default()
    };
    network.send_host_probe(host, port, probe);
}

/// Reads the result in an answer to a probe; nothing if the packet is none.
pub(crate) fn read(packet: &Packet, network: &Network) -> Option<Finding> {
    let (path, marked) = Tag(packet.tag).news()?;
    let rtt_ns = (network.now_ns() as u32).wrapping_sub(packet.stamp_ns);
    Some(Finding { path, rtt_ns, marked: marked != 0 })
}

/// Answers a probe that reached `host`; a hash chooses the way back.
pub(crate) fn answer((host, port): (u32, u32), probe: &Packet, entropy: u32, network: &mut Network) {
    let Some(path) = Tag(probe.tag).path() else { return };
    let marked = u32::from(probe.marks & marks::EXPERIENCED != 0);
    let answer = Packet {
        kind: Kind::HostProbe,
        connection: host,
        destination: probe.connection,
        entropy,
        tag: Tag::new(path).with_news(path, marked).0,
        stamp_ns: probe.stamp_ns,
        frame_bytes: FRAME_BYTES,
        ..Packet::default()
    };
    network.send_host_probe(host, port, answer);
}
