//! Report of a port to the probes that leave by it: its backlog, or how busy it was (section 3.1), as HULA estimates it.

use crate::luopan::parameters::Metric;
use anabranch_sim::Network;
use anabranch_split::picks::utilisation::{ONE, Recent, full_bytes};

/// Reports of all ports.
pub(crate) struct Gauge {
    metric: Metric,
    /// Time that the utilisation looks back over.
    tau_ns: u64,
    busy: Vec<Busy>,
}

/// Recent traffic of a port, read from the port's counter whenever a probe leaves.
#[derive(Clone, Copy, Default)]
struct Busy {
    at_ns: u64,
    sent_bytes: u64,
    recent: Recent,
}

impl Gauge {
    pub(crate) fn new(metric: Metric, tau_ns: u64, ports: usize) -> Self {
        let ports = if metric == Metric::Utilisation { ports } else { 0 };
        Self { metric, tau_ns, busy: vec![Busy::default(); ports] }
    }

    /// Level of a path so far, `before`, after one more port: backlogs add up, and of utilisations the largest counts.
    pub(crate) fn after(&mut self, before: u32, port: u32, network: &mut Network) -> u32 {
        match self.metric {
            Metric::Bytes | Metric::SevenBits => before.saturating_add(network.backlog_bytes(port)),
            Metric::Utilisation => {
                let (sent_bytes, now_ns) = (network.sent_bytes(port), network.now_ns());
                let busy = &mut self.busy[port as usize];
                busy.look(sent_bytes, now_ns, self.tau_ns);
                before.max(busy.level(network.rate_bps(port), self.tau_ns))
            }
        }
    }
}

impl Busy {
    /// Bytes of a time longer than tau count as their mean.
    fn look(&mut self, sent_bytes: u64, now_ns: u64, tau_ns: u64) {
        let (new_bytes, passed_ns) = (sent_bytes - self.sent_bytes, now_ns - self.at_ns);
        let mean_bytes =
            u128::from(new_bytes) * u128::from(tau_ns) / u128::from(passed_ns.max(tau_ns).max(1));
        self.recent.add(tau_ns, mean_bytes.min(u32::MAX.into()) as u32, now_ns);
        (self.sent_bytes, self.at_ns) = (sent_bytes, now_ns);
    }

    /// In units of 1 / [`ONE`]. Counted at the start of a frame, traffic may be a little more than the link carries.
    fn level(&self, rate_bps: u64, tau_ns: u64) -> u32 {
        self.recent.utilisation(tau_ns, full_bytes(rate_bps, tau_ns), self.at_ns).min(ONE).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAU_NS: u64 = 40_000;
    const RATE_BPS: u64 = 10_000_000_000;

    /// Bytes that the link carries in a time.
    fn carried(ns: u64) -> u64 {
        ns * RATE_BPS / 8_000_000_000
    }

    #[test]
    fn a_full_link_is_full_and_a_quiet_one_forgets() {
        let (mut busy, mut now_ns) = (Busy::default(), 0);
        for step_ns in [10_000, 10_000, 30_000, 40_000, 5_000, 100_000] {
            now_ns += step_ns;
            busy.look(carried(now_ns), now_ns, TAU_NS);
        }
        assert_eq!(busy.level(RATE_BPS, TAU_NS), u32::from(ONE));
        let sent_bytes = busy.sent_bytes;
        busy.look(sent_bytes, now_ns + TAU_NS / 4, TAU_NS);
        assert_eq!(busy.level(RATE_BPS, TAU_NS), u32::from(ONE) * 3 / 4);
        busy.look(sent_bytes, now_ns + 2 * TAU_NS, TAU_NS);
        assert_eq!(busy.level(RATE_BPS, TAU_NS), 0);
    }

    #[test]
    fn a_long_pause_between_probes_counts_as_its_mean() {
        let mut busy = Busy::default();
        busy.look(carried(100_000), 400_000, TAU_NS);
        assert_eq!(busy.level(RATE_BPS, TAU_NS), u32::from(ONE) / 4);
    }
}
