//! Timers: wake-ups of connections and load balancers, and starts of flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whom a timer is for. The order decides between timers of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A flow begins: its number.
    Start(u32),
    /// The sending half of a connection (slot and generation, as in [`crate::Packet::connection`]).
    Sender(u32),
    /// The receiving half of a connection.
    Receiver(u32),
    /// The load balancer of a switch: the switch and a token of the balancer's own.
    SwitchBalancer(u32, u32),
    /// The load balancer of a host: the host and a token of the balancer's own.
    HostBalancer(u32, u32),
}

/// Bits of a key below the kind of timer, and below the switch or host.
const KIND_AT: u32 = 61;
const NODE_AT: u32 = 32;

impl Timer {
    /// Number that has the order of the timers: kind, switch or host, then the rest.
    fn key(self) -> u64 {
        let (kind, node, rest) = match self {
            Self::Start(flow) => (0, 0, flow),
            Self::Sender(connection) => (1, 0, connection),
            Self::Receiver(connection) => (2, 0, connection),
            Self::SwitchBalancer(switch, token) => (3, switch, token),
            Self::HostBalancer(host, token) => (4, host, token),
        };
        debug_assert!(node >> (KIND_AT - NODE_AT) == 0, "a key has room for the node");
        kind << KIND_AT | u64::from(node) << NODE_AT | u64::from(rest)
    }

    /// The timer of a key.
    fn of(key: u64) -> Self {
        let (node, rest) = ((key >> NODE_AT) as u32 & ((1 << (KIND_AT - NODE_AT)) - 1), key as u32);
        match key >> KIND_AT {
            0 => Self::Start(rest),
            1 => Self::Sender(rest),
            2 => Self::Receiver(rest),
            3 => Self::SwitchBalancer(node, rest),
            _ => Self::HostBalancer(node, rest),
        }
    }
}

/// All timers that were wished for. A wish that moved is left standing; whoever is woken checks his deadlines.
#[derive(Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(u64, u64)>>);

impl Timers {
    pub(crate) fn push(&mut self, at_ps: u64, timer: Timer) {
        self.0.push(Reverse((at_ps, timer.key())));
    }

    pub(crate) fn first_ps(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at_ps, _))| *at_ps)
    }

    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.0.pop().map(|Reverse((_, key))| Timer::of(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timer() -> impl Strategy<Value = Timer> {
        (0..5, 0u32..1 << 29, any::<u32>()).prop_map(|(kind, node, rest)| match kind {
            0 => Timer::Start(rest),
            1 => Timer::Sender(rest),
            2 => Timer::Receiver(rest),
            3 => Timer::SwitchBalancer(node, rest),
            _ => Timer::HostBalancer(node, rest),
        })
    }

    proptest! {
        #[test]
        fn keys_have_the_order_of_timers_and_name_them(one in timer(), other in timer()) {
            prop_assert_eq!(Timer::of(one.key()), one);
            prop_assert_eq!(one.key().cmp(&other.key()), one.cmp(&other));
        }
    }
}
