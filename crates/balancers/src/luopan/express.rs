//! Probes that overtake: on time whatever waits, as if every port served them first.

use crate::luopan::gauge::Gauge;
use crate::path_book::Routes;
use anabranch_sim::Network;

/// Probes of one round that travel to one destination together, and their answers.
#[derive(Clone, Default)]
pub(crate) struct Flight {
    /// Paths, and their level so far.
    probes: Vec<(u16, u32)>,
    /// Ports that they have passed.
    hops: usize,
    /// Time since they were sent.
    flown_ps: u64,
    /// Time at which they are at their next port, or the answers are back.
    due_ps: u64,
    returns: bool,
}

impl Flight {
    pub(crate) fn new(paths: &[u16], now_ps: u64) -> Self {
        Self { probes: paths.iter().map(|&path| (path, 0)).collect(), due_ps: now_ps, ..Self::default() }
    }

    /// Whether a timer that rings now is this flight's.
    pub(crate) fn is_due(&self, now_ps: u64) -> bool {
        !self.probes.is_empty() && self.due_ps == now_ps
    }

    /// Passes the next port of every path, each in its time of `hop_ps`, and returns when to go on; `None` if the answers
    /// are back. A probe ends at a port that is dead, and its answer never comes.
    pub(crate) fn pass(
        &mut self,
        routes: &Routes,
        hop_ps: &[u64],
        gauge: &mut Gauge,
        network: &mut Network,
    ) -> Option<u64> {
        if self.returns {
            return None;
        }
        let (hop, mut longest_ps) = (self.hops, 0);
        let next =
            |path: u16| routes.all.get(usize::from(path)).and_then(|route| route.ports.get(hop).copied());
        self.probes.retain(|&(path, _)| next(path).is_none_or(|port| network.is_up(port)));
        for (path, level) in &mut self.probes {
            if let Some(port) = next(*path) {
                *level = gauge.after(*level, port, network);
                longest_ps = longest_ps.max(hop_ps[port as usize]);
            }
        }
        if longest_ps == 0 {
            // All ports are passed; the way back takes as long.
            (self.returns, longest_ps) = (true, self.flown_ps);
        }
        self.hops += 1;
        self.flown_ps += longest_ps;
        self.due_ps = network.now_ps() + longest_ps;
        Some(self.due_ps)
    }

    /// The answers, which are back.
    pub(crate) fn land(&mut self) -> Vec<(u16, u32)> {
        std::mem::take(&mut self.probes)
    }
}
