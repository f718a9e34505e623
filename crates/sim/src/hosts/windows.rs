//! Windows and rates that congestion control gives the watched flows, as they change.

use super::Hosts;
use crate::WindowSample;
use crate::network::Network;
use crate::transport::Bounds;

/// Bits of a byte times picoseconds of a second.
const BIT_PS_PER_BYTE_S: u128 = 8_000_000_000_000;

/// Bounds of one sender, and its link's rate in bits per second.
#[derive(Clone, Copy)]
pub(super) struct Allowance {
    bounds: Bounds,
    link_bps: u64,
}

/// Window and rate of a flow as its control states them, before one is derived from the other, and whether a rate can be.
pub(super) type Stated = (u64, u64, bool);

impl Allowance {
    /// Rate in bits per second, at most the link's; `None` if it depends on a round trip that is not known.
    fn rate_bps(&self) -> Option<u64> {
        let by_window = match (self.bounds.window_bytes, self.bounds.rtt_ps) {
            (u64::MAX, _) => u64::MAX,
            (_, 0) if self.bounds.rate_bps == u64::MAX => return None,
            (_, 0) => u64::MAX,
            (bytes, rtt_ps) => saturated(u128::from(bytes) * BIT_PS_PER_BYTE_S / u128::from(rtt_ps)),
        };
        Some(by_window.min(self.bounds.rate_bps).min(self.link_bps))
    }

    /// Window in bytes; where there is none, what the rate sends in a round trip of the empty fabric, if that is known.
    fn window_bytes(&self) -> Option<u64> {
        match (self.bounds.window_bytes, self.bounds.empty_rtt_ps) {
            (u64::MAX, 0) => None,
            (u64::MAX, rtt_ps) => {
                let rate_bps = self.bounds.rate_bps.min(self.link_bps);
                Some(saturated(u128::from(rate_bps) * u128::from(rtt_ps) / BIT_PS_PER_BYTE_S))
            }
            (bytes, _) => Some(bytes),
        }
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl Hosts<'_> {
    /// Writes down window and rate of the flow of a connection, if it is watched and they have changed.
    pub(super) fn watch(&mut self, name: u32, network: &Network) {
        if self.watched.is_empty() {
            return;
        }
        let Some(connection) = self.connections.peek(name) else { return };
        let flow = connection.message.flow;
        if !self.watched.contains_key(&flow) {
            return;
        }
        let own = || self.allowance(name, network).into_iter().collect();
        let allowances = self.allowances_of_parts(flow, network).unwrap_or_else(own);
        self.note_window(flow, &allowances, network.now_ps);
    }

    /// Bounds of the sender of a connection.
    pub(super) fn allowance(&self, name: u32, network: &Network) -> Option<Allowance> {
        let connection = self.connections.peek(name)?;
        let bounds = connection.sending.end.bounds(&self.transports[usize::from(connection.transport)]);
        let link_bps = network.ports[connection.sending.address.port as usize].rate_bps();
        Some(Allowance { bounds, link_bps })
    }

    /// Writes down the sums over the senders of a watched flow, if they have changed.
    pub(super) fn note_window(&mut self, flow: u32, allowances: &[Allowance], now_ps: u64) {
        let Some(last) = self.watched.get_mut(&flow) else { return };
        let sum = |value: fn(&Allowance) -> Option<u64>| {
            allowances.iter().map(value).try_fold(0u64, |sum, value| Some(sum.saturating_add(value?)))
        };
        let link_bps = allowances.iter().map(|one| one.link_bps).max().unwrap_or(0);
        let rate_bps = sum(Allowance::rate_bps).map(|bps| bps.min(link_bps));
        let stated = allowances.iter().fold((0, 0, rate_bps.is_some()), |(bytes, bps, known), one| {
            (one.bounds.window_bytes.saturating_add(bytes), one.bounds.rate_bps.saturating_add(bps), known)
        });
        if last.replace(stated) != Some(stated) {
            let window_bytes = sum(Allowance::window_bytes);
            self.windows.push(WindowSample { flow, time_ps: now_ps, window_bytes, rate_bps });
        }
    }
}
