//! Traffic separator: records the flows that congest a port in a hash array (Algorithm 1).

use anabranch_split::picks::mix::{absorb, finalise};
use anabranch_split::picks::store::Store;

/// Packet that was enqueued at a port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departure {
    flow: u32,
    bytes: u32,
    at_ns: u64,
}

/// State of one port.
#[derive(Clone, Copy, Debug, Default)]
pub struct Port {
    /// Number of packets enqueued, modulo 2^32.
    departed: u32,
    /// Number of them that were examined when flows were recorded.
    recorded: u32,
    /// Number of its congestion, if there is one: entries of the array with another number do not count.
    congestion: Option<u32>,
    /// Time at which its queue was last found too long.
    detected_ns: Option<u64>,
    /// Times at which the last hop began to report flows on it, and last did.
    reported_ns: Option<(u64, u64)>,
    /// Time for which either lasts.
    hold_ns: u64,
}

/// Entry of the hash array.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cell {
    /// Half of the flow's hash that is not its position.
    hash: u16,
    port: u16,
    /// Number of a congestion; zero in an empty entry.
    congestion: u32,
}

/// Choice of the flows that are recorded as those that congest a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Record {
    /// Flows with a packet in the queue.
    #[default]
    Queue,
    /// Flows that sent a packet there within this many nanoseconds.
    Window(u64),
}

/// Hash array of one switch, and the recent packets of its ports.
pub struct Separator<S: Store> {
    ports: S::Of<Port>,
    /// Latest packets by port, `ring` each. Empty entries have no bytes.
    departures: S::Of<Departure>,
    /// Number of packets remembered of each port, a power of two.
    ring: u32,
    /// Hash array, whose length is a power of two, at most 2^16.
    cells: S::Of<Cell>,
    congestions: u32,
    detections: u64,
}

impl<S: Store> Separator<S> {
    /// Makes a separator with `ring` packets, a power of two, remembered of each port in `departures`. `cells` is the
    /// hash array, whose length is a power of two: 2^16 in the paper's terms.
    pub const fn new(
        ports: S::Of<Port>,
        departures: S::Of<Departure>,
        ring: u32,
        cells: S::Of<Cell>,
    ) -> Self {
        Self { ports, departures, ring, cells, congestions: 0, detections: 0 }
    }

    /// Number of times that a queue was found too long.
    #[must_use]
    pub const fn detections(&self) -> u64 {
        self.detections
    }

    /// Records that a packet of `flow` enters the queue of `port`.
    #[inline(always)]
    pub fn depart(&mut self, port: u16, flow: u64, bytes: u32, now_ns: u64) {
        let Some(state) = self.ports.as_mut().get_mut(usize::from(port)) else { return };
        let slot = ring_place(port, state.departed, self.ring);
        if let Some(departure) = self.departures.as_mut().get_mut(slot) {
            *departure = Departure { flow: fold(flow), bytes, at_ns: now_ns };
        }
        state.departed = state.departed.wrapping_add(1);
    }

    /// Records the flows that are to blame for a queue of `port` that is too long. `hold_ns` is the time for which the
    /// congestion is assumed to last if it is not found again.
    pub fn detect(&mut self, port: u16, backlog_bytes: u32, record: Record, hold_ns: u64, now_ns: u64) {
        self.detections += 1;
        let Some(congestion) = self.open(port, hold_ns) else { return };
        let Some(state) = self.ports.as_mut().get_mut(usize::from(port)) else { return };
        state.detected_ns = Some(now_ns);
        // Those looked at last time are in the array: only what came since is new.
        let (departed, new) = (state.departed, state.departed.wrapping_sub(state.recorded).min(self.ring));
        state.recorded = departed;
        let mut bytes = 0u32;
        for back in 1..=new {
            let slot = ring_place(port, departed.wrapping_sub(back), self.ring);
            let Some(&departure) = self.departures.as_ref().get(slot) else { return };
            let counts = match record {
                Record::Queue => bytes < backlog_bytes,
                Record::Window(window_ns) => now_ns.saturating_sub(departure.at_ns) <= window_ns,
            };
            if !counts || departure.bytes == 0 {
                return;
            }
            bytes = bytes.saturating_add(departure.bytes);
            self.insert(departure.flow, port, congestion);
        }
    }

    /// Records the last hop's report that `flow`, which leaves here by `port`, congests a port there.
    pub fn report(&mut self, port: u16, flow: u64, hold_ns: u64, now_ns: u64) {
        let Some(congestion) = self.open(port, hold_ns) else { return };
        if let Some(state) = self.ports.as_mut().get_mut(usize::from(port)) {
            let began_ns = state.reported_ns.map_or(now_ns, |(began_ns, _)| began_ns);
            state.reported_ns = Some((began_ns, now_ns));
        }
        self.insert(fold(flow), port, congestion);
    }

    /// Ends the congestion of `port` if its queue has fallen to `relief_bytes`, or if nothing was found again for as
    /// long as it lasts; `never` keeps the array as it is.
    #[inline(always)]
    pub fn relieve(&mut self, port: u16, backlog_bytes: u32, relief_bytes: u32, never: bool, now_ns: u64) {
        let Some(state) = self.ports.as_mut().get_mut(usize::from(port)) else { return };
        if state.congestion.is_none() {
            return;
        }
        let hold_ns = state.hold_ns;
        let holds = |since_ns: &u64| now_ns.saturating_sub(*since_ns) <= hold_ns;
        state.detected_ns = state.detected_ns.filter(holds).filter(|_| backlog_bytes > relief_bytes);
        state.reported_ns = state.reported_ns.filter(|(_, last_ns)| holds(last_ns));
        if !never && state.detected_ns.is_none() && state.reported_ns.is_none() {
            state.congestion = None;
        }
    }

    /// Whether the last hop reports flows on `port`, and has had the time to report all: reports come flow by flow, and
    /// a flow without a report may still get one.
    #[inline(always)]
    #[must_use]
    pub fn is_reported(&self, port: u16, now_ns: u64) -> bool {
        self.ports.as_ref().get(usize::from(port)).is_some_and(|state| {
            state.reported_ns.is_some_and(|(began_ns, _)| now_ns.saturating_sub(began_ns) >= state.hold_ns)
        })
    }

    /// Whether `flow` is recorded as one that congests `port`.
    #[inline(always)]
    #[must_use]
    pub fn is_congesting(&self, port: u16, flow: u64) -> bool {
        let Some(state) = self.ports.as_ref().get(usize::from(port)) else { return false };
        let Some(congestion) = state.congestion else { return false };
        let flow = fold(flow);
        let cells = self.cells.as_ref();
        cells.get(slot(flow, cells.len())).is_some_and(|cell| {
            cell.congestion == congestion && cell.port == port && cell.hash == (flow >> 16) as u16
        })
    }

    /// Number of the congestion of `port`, a new one if there is none.
    fn open(&mut self, port: u16, hold_ns: u64) -> Option<u32> {
        let state = self.ports.as_mut().get_mut(usize::from(port))?;
        state.hold_ns = hold_ns;
        if state.congestion.is_none() {
            self.congestions = self.congestions.wrapping_add(1).max(1);
            state.congestion = Some(self.congestions);
            state.recorded = state.departed.wrapping_sub(self.ring);
        }
        state.congestion
    }

    fn insert(&mut self, flow: u32, port: u16, congestion: u32) {
        let cells = self.cells.as_mut();
        let slot = slot(flow, cells.len());
        if let Some(cell) = cells.get_mut(slot) {
            *cell = Cell { hash: (flow >> 16) as u16, port, congestion };
        }
    }
}

/// Position at which packet number `number` of `port` is remembered.
#[inline(always)]
const fn ring_place(port: u16, number: u32, ring: u32) -> usize {
    port as usize * ring as usize + (number & ring.wrapping_sub(1)) as usize
}

/// Position of a flow in an array of `cells`, a power of two.
#[inline(always)]
const fn slot(flow: u32, cells: usize) -> usize {
    flow as usize & 0xffff & cells.wrapping_sub(1)
}

/// Folds a flow's key to the 32 bits that the array knows.
#[inline(always)]
fn fold(flow: u64) -> u32 {
    finalise(absorb(flow as u32, (flow >> 32) as u32))
}
