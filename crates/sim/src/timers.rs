//! Timers: wake-ups of connections and load balancers, and starts of flows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Whom a timer is for. The order decides between timers of the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// A flow begins: its number.
    Start(u32),
    /// The sending half of a connection: the flow that it carried when the timer was set and the queue pair
    /// ([`Timer::of_sender`]), and its name ([`crate::Packet::connection`]). Flows and their queue pairs are numbered alike
    /// however the fabric is cut, names of connections are not.
    Sender(u32, u32),
    /// The receiving half of a connection, likewise.
    Receiver(u32, u32),
    /// The load balancer of a switch: the switch and a token of the balancer's own.
    SwitchBalancer(u32, u32),
    /// The load balancer of a host: the host and a token of the balancer's own.
    HostBalancer(u32, u32),
    /// A workload graph: the number of a node's time, or of a graph's beginning.
    Work(u32),
    /// A message that replay took over: the number of its flow.
    Replay(u32),
    /// The pause of a port's other end, in one class: the port and the class.
    Pause(u32, u32),
    /// The pacer of a host's grants of credit.
    Pacer(u32),
}

/// Bits of a key below the kind of timer, and below the flow, switch or host.
const KIND_AT: u32 = 61;
const NODE_AT: u32 = 32;

/// The bits of a number of a node, or of a flow and a queue pair, that a key has room for.
const NODE: u32 = (1 << (KIND_AT - NODE_AT)) - 1;

/// Bits of the number of a queue pair.
const QUEUE_PAIR_BITS: u32 = 6;

/// Connections of one flow, over queue pairs or as subflows, whose timers go by their numbers.
pub(crate) const CONNECTIONS_MAX: u32 = 1 << QUEUE_PAIR_BITS;

impl Timer {
    /// Timer of the sending half of a connection that carries a flow, modulo 2^23, on a queue pair.
    #[inline(always)]
    pub(crate) fn of_sender((flow, queue_pair): (u32, u8), connection: u32) -> Self {
        Self::Sender(Self::carried(flow, queue_pair), connection)
    }

    /// Timer of the receiving half of a connection that carries a flow, modulo 2^23, on a queue pair.
    #[inline(always)]
    pub(crate) fn of_receiver((flow, queue_pair): (u32, u8), connection: u32) -> Self {
        Self::Receiver(Self::carried(flow, queue_pair), connection)
    }

    /// Number that has the order of flows, and of queue pairs of one flow.
    #[inline(always)]
    fn carried(flow: u32, queue_pair: u8) -> u32 {
        (flow << QUEUE_PAIR_BITS | u32::from(queue_pair)) & NODE
    }

    /// Number that has the order of the timers: kind, flow, switch or host, then the rest.
    fn key(self) -> u64 {
        let (kind, node, rest) = match self {
            Self::Start(flow) => (0, 0, flow),
            Self::Sender(flow, connection) => (1, flow, connection),
            Self::Receiver(flow, connection) => (2, flow, connection),
            Self::SwitchBalancer(switch, token) => (3, switch, token),
            Self::HostBalancer(host, token) => (4, host, token),
            Self::Work(number) => (5, 0, number),
            Self::Replay(flow) => (5, 1, flow),
            Self::Pause(port, class) => (6, port, class),
            Self::Pacer(host) => (7, 0, host),
        };
        debug_assert!(node >> (KIND_AT - NODE_AT) == 0, "a key has room for the node");
        kind << KIND_AT | u64::from(node) << NODE_AT | u64::from(rest)
    }

    /// The timer of a key.
    fn of(key: u64) -> Self {
        let (node, rest) = ((key >> NODE_AT) as u32 & NODE, key as u32);
        match key >> KIND_AT {
            0 => Self::Start(rest),
            1 => Self::Sender(node, rest),
            2 => Self::Receiver(node, rest),
            3 => Self::SwitchBalancer(node, rest),
            4 => Self::HostBalancer(node, rest),
            5 if node == 0 => Self::Work(rest),
            5 => Self::Replay(rest),
            6 => Self::Pause(node, rest),
            _ => Self::Pacer(rest),
        }
    }
}

/// When, and for whom: a timer's key.
type Wish = (u64, u64);

/// No wish: no timer has this key.
const NEVER: Wish = (u64::MAX, u64::MAX);

/// Bits of a time within a stretch: 34 us.
const STRETCH_BITS: u32 = 25;

/// Stretches after the present one that have a list each: 34 ms.
const STRETCHES: usize = 1 << 10;

/// Wishes that a list has room for at first: a kilobyte.
const ROOM: usize = 64;

/// All timers that were wished for. A wish that moved is left standing; whoever is woken checks his deadlines.
///
/// Most wishes are far from now: starts of flows, which are known from the beginning, and retransmission timers, of which
/// few are still of use when they are due. Both wait where that costs little, starts in one sorted list, wishes of later
/// stretches of time unsorted until their stretch begins. Only what is wished for within the present stretch stands in a
/// heap, which is small.
pub(crate) struct Timers {
    /// Starts of flows, the next one last.
    starts: Vec<Wish>,
    /// Wishes of the present stretch that were there when it began, the next one last.
    present: Vec<Wish>,
    /// Wishes up to the end of the present stretch that came since.
    soon: BinaryHeap<Reverse<Wish>>,
    /// The present stretch.
    stretch: u64,
    /// Wishes of each of the next [`STRETCHES`] stretches, at its number modulo their count, and which have any.
    later: Box<[Vec<Wish>]>,
    any: [u64; STRETCHES / 64],
    /// Room of stretches that are over.
    spare: Vec<Vec<Wish>>,
    /// Wishes beyond.
    far: BinaryHeap<Reverse<Wish>>,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            starts: Vec::new(),
            present: Vec::new(),
            soon: BinaryHeap::new(),
            stretch: 0,
            later: vec![Vec::new(); STRETCHES].into(),
            any: [0; STRETCHES / 64],
            spare: Vec::new(),
            far: BinaryHeap::new(),
        }
    }
}

impl Timers {
    /// Sets the starts of all flows that begin at a time, once.
    pub(crate) fn start(&mut self, flows: impl Iterator<Item = (u64, u32)>) {
        debug_assert!(self.starts.is_empty(), "starts are set once");
        self.starts = flows.map(|(at_ps, flow)| (at_ps, Timer::Start(flow).key())).collect();
        self.starts.sort_unstable_by_key(|&wish| Reverse(wish));
    }

    pub(crate) fn push(&mut self, at_ps: u64, timer: Timer) {
        let (stretch, wish) = (at_ps >> STRETCH_BITS, (at_ps, timer.key()));
        if stretch <= self.stretch {
            self.soon.push(Reverse(wish));
            return;
        }
        if stretch - self.stretch > STRETCHES as u64 {
            self.far.push(Reverse(wish));
        } else {
            let place = stretch as usize % STRETCHES;
            let wishes = &mut self.later[place];
            if wishes.capacity() == 0 {
                *wishes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(ROOM));
            }
            wishes.push(wish);
            self.any[place / 64] |= 1 << (place % 64);
        }
        if self.present.is_empty() && self.soon.is_empty() {
            self.go_on();
        }
    }

    /// The next wish of each of the three places where the next of all may stand.
    fn fronts(&self) -> [Wish; 3] {
        let soon = self.soon.peek().map(|&Reverse(wish)| wish);
        [self.starts.last().copied(), self.present.last().copied(), soon].map(|wish| wish.unwrap_or(NEVER))
    }

    pub(crate) fn first_ps(&self) -> Option<u64> {
        let [start, present, soon] = self.fronts();
        let (at_ps, key) = start.min(present).min(soon);
        ((at_ps, key) != NEVER).then_some(at_ps)
    }

    /// The next timer.
    pub(crate) fn first(&self) -> Option<Timer> {
        let [start, present, soon] = self.fronts();
        let first = start.min(present).min(soon);
        (first != NEVER).then(|| Timer::of(first.1))
    }

    pub(crate) fn pop(&mut self) -> Option<Timer> {
        let [start, present, soon] = self.fronts();
        let first = start.min(present).min(soon);
        if first == NEVER {
            return None;
        }
        if first == start {
            self.starts.pop();
            return Some(Timer::of(first.1));
        }
        if first == present {
            self.present.pop();
        } else {
            self.soon.pop();
        }
        if self.present.is_empty() && self.soon.is_empty() {
            self.go_on();
        }
        Some(Timer::of(first.1))
    }

    /// The timer that comes so many after the next, of those that were there when the present stretch began.
    pub(crate) fn coming(&self, after: usize) -> Option<Timer> {
        let index = self.present.len().checked_sub(after + 1)?;
        self.present.get(index).map(|&(_, key)| Timer::of(key))
    }

    /// The next stretch with a wish in it becomes the present one.
    fn go_on(&mut self) {
        let listed = self.next_listed();
        let beyond = self.far.peek().map(|&Reverse((at_ps, _))| at_ps >> STRETCH_BITS);
        let Some(next) = listed.into_iter().chain(beyond).min() else { return };
        self.stretch = next;
        if listed == Some(next) {
            let place = next as usize % STRETCHES;
            self.any[place / 64] &= !(1 << (place % 64));
            // The room of the stretch that is over is kept for a later one.
            self.spare.push(std::mem::replace(&mut self.present, std::mem::take(&mut self.later[place])));
        }
        while let Some(&Reverse(wish)) =
            self.far.peek().filter(|Reverse((at_ps, _))| at_ps >> STRETCH_BITS == next)
        {
            self.far.pop();
            self.present.push(wish);
        }
        self.present.sort_unstable_by_key(|&wish| Reverse(wish));
    }

    /// The next stretch of those that have a list.
    fn next_listed(&self) -> Option<u64> {
        let first = (self.stretch + 1) as usize % STRETCHES;
        let (word, bit) = (first / 64, first % 64);
        let words = self.any.len();
        // The first word comes twice: its places from `bit` on, and at last those before.
        let place = (0..=words).find_map(|step| {
            let index = (word + step) % words;
            let mask = match step {
                0 => u64::MAX << bit,
                _ if step == words => !(u64::MAX << bit),
                _ => u64::MAX,
            };
            let found = self.any[index] & mask;
            (found != 0).then(|| index * 64 + found.trailing_zeros() as usize)
        })?;
        Some(self.stretch + 1 + ((place + STRETCHES - first) % STRETCHES) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timer() -> impl Strategy<Value = Timer> {
        (0..9, 0u32..1 << 29, any::<u32>()).prop_map(|(kind, node, rest)| match kind {
            0 => Timer::Start(rest),
            1 => Timer::of_sender((node, node as u8 % 64), rest),
            2 => Timer::of_receiver((node, node as u8 % 64), rest),
            3 => Timer::SwitchBalancer(node, rest),
            4 => Timer::HostBalancer(node, rest),
            5 => Timer::Work(rest),
            6 => Timer::Pause(node, rest),
            7 => Timer::Replay(rest),
            _ => Timer::Pacer(rest),
        })
    }

    fn time() -> impl Strategy<Value = u64> {
        let stretches = prop_oneof![0u64..6, 60u64..70, 1020u64..1030, 2000u64..5000];
        (stretches, 0u64..3).prop_map(|(stretches, more)| (stretches << STRETCH_BITS) + more)
    }

    proptest! {
        #[test]
        fn keys_have_the_order_of_timers_and_name_them(one in timer(), other in timer()) {
            prop_assert_eq!(Timer::of(one.key()), one);
            prop_assert_eq!(one.key().cmp(&other.key()), one.cmp(&other));
        }

        /// A sorted set is the definition. Times step over the ends of stretches, and stand on them.
        #[test]
        fn timers_come_in_order(
            starts in prop::collection::vec((time(), any::<u32>()), 0..30),
            steps in prop::collection::vec(prop::option::of((time(), timer())), 1..200),
        ) {
            let mut timers = Timers::default();
            timers.start(starts.iter().copied());
            let mut wished: Vec<(u64, Timer)> =
                starts.into_iter().map(|(at_ps, flow)| (at_ps, Timer::Start(flow))).collect();
            let mut now_ps = 0;
            for step in steps {
                if let Some((after_ps, timer)) = step {
                    timers.push(now_ps + after_ps, timer);
                    wished.push((now_ps + after_ps, timer));
                } else {
                    wished.sort_unstable_by(|one, other| other.cmp(one));
                    let next = wished.pop();
                    now_ps = next.map_or(now_ps, |(at_ps, _)| at_ps);
                    prop_assert_eq!(timers.pop(), next.map(|(_, timer)| timer));
                }
                prop_assert_eq!(timers.first_ps(), wished.iter().map(|&(at_ps, _)| at_ps).min());
            }
        }
    }
}
