//! Report of a port to the probes that leave by it: its backlog, or how busy it was (section 3.1).

use crate::luopan::parameters::Metric;
use anabranch_sim::Network;

/// Most that a link can be busy, in thousandths.
const FULL: u64 = 1000;

/// Reports of all ports.
pub(crate) struct Gauge {
    metric: Metric,
    /// Time that the utilisation looks back over.
    tau_ns: u64,
    busy: Vec<Busy>,
}

/// Recent traffic of a port, as HULA estimates it (Katta et al., SOSR 2016, section 3.2), from the port's counter.
#[derive(Clone, Copy, Default)]
struct Busy {
    at_ns: u64,
    sent_bytes: u64,
    recent_bytes: u64,
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
                before.max(busy.thousandths(network.rate_bps(port), self.tau_ns))
            }
        }
    }
}

impl Busy {
    fn look(&mut self, sent_bytes: u64, now_ns: u64, tau_ns: u64) {
        let (new_bytes, passed_ns) = (sent_bytes - self.sent_bytes, now_ns - self.at_ns);
        self.recent_bytes = if passed_ns < tau_ns {
            new_bytes + share(self.recent_bytes, tau_ns - passed_ns, tau_ns)
        } else {
            share(new_bytes, tau_ns, passed_ns)
        };
        (self.sent_bytes, self.at_ns) = (sent_bytes, now_ns);
    }

    /// Counted at the start of a frame, traffic may be a little more than the link carries.
    fn thousandths(&self, rate_bps: u64, tau_ns: u64) -> u32 {
        let full_bits = u128::from(rate_bps) * u128::from(tau_ns);
        let busy = u128::from(self.recent_bytes) * 8 * 1_000_000_000 * u128::from(FULL);
        busy.checked_div(full_bits).map_or(FULL, |busy| busy.min(FULL.into()) as u64) as u32
    }
}

fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    (u128::from(bytes) * u128::from(part) / u128::from(whole.max(1))) as u64
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
        assert_eq!(busy.thousandths(RATE_BPS, TAU_NS), 1000);
        let sent_bytes = busy.sent_bytes;
        busy.look(sent_bytes, now_ns + TAU_NS / 4, TAU_NS);
        assert_eq!(busy.thousandths(RATE_BPS, TAU_NS), 750);
        busy.look(sent_bytes, now_ns + 2 * TAU_NS, TAU_NS);
        assert_eq!(busy.thousandths(RATE_BPS, TAU_NS), 0);
    }

    #[test]
    fn a_long_pause_between_probes_counts_as_its_mean() {
        let mut busy = Busy::default();
        busy.look(carried(100_000), 400_000, TAU_NS);
        assert_eq!(busy.thousandths(RATE_BPS, TAU_NS), 250);
    }
}
