//! Connections of one thread while members drain: which of them are new.

use super::{Group, Kind, Planned};
use std::collections::HashMap;

/// What one thread knows of the connections of one group while members drain: where it matters, whether a connection
/// began before a drain or after it. All packets of a connection go by the same value, as a network card's queues make
/// it, and a value serves one group.
///
/// It remembers nothing while no drain lasts. While one does it remembers the new connections of keys that a plan before
/// the drain picks another member for, until no drain lasts any more.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    /// Serial number of the plan at the beginning of a connection. A key without one began before all drains that last,
    /// or where all plans of that moment agreed about it.
    began: HashMap<u64, u64>,
}

impl Connections {
    /// Knows no connection yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Picks the member of one packet of the connection with this key. `begins` says whether it is the connection's first,
    /// as a TCP packet with SYN alone is; `now_ns` is the time by the clock of the deadlines.
    ///
    /// A new connection gets the member of [`Group::pick`]. A later packet gets the member by the plan before the first
    /// drain that its connection outlived and whose deadline has not come, as long as that member is up; otherwise that of
    /// [`Group::pick`]. When a deadline comes, its connections count as begun just before the next drain that lasts.
    pub fn pick(&mut self, group: &Group, flow: u64, begins: bool, now_ns: u64) -> u16 {
        match &group.kind {
            Kind::Stateless(plan) => self.pick_by(&plan.load(), flow, begins, now_ns),
            Kind::Stateful(state) => state.lock().pick(flow),
        }
    }

    /// Bytes of what it remembers, without the allocator's own.
    #[must_use]
    pub fn state_bytes(&self) -> usize {
        self.began.capacity() * (size_of::<(u64, u64)>() + 1)
    }

    fn pick_by(&mut self, planned: &Planned, flow: u64, begins: bool, now_ns: u64) -> u16 {
        let present = planned.pick(flow);
        let mut lasting = planned.earlier.iter().filter(|earlier| now_ns < earlier.until_ns).peekable();
        if lasting.peek().is_none() {
            if self.began.capacity() > 0 {
                self.began = HashMap::new();
            }
            return present;
        }
        if begins {
            if lasting.any(|earlier| earlier.pick(flow) != present) {
                self.began.insert(flow, planned.serial);
            } else {
                self.began.remove(&flow);
            }
            return present;
        }
        let began = self.began.get(&flow).copied().unwrap_or(0);
        let kept = lasting.find(|earlier| began < earlier.before).map(|earlier| earlier.pick(flow));
        kept.filter(|&member| planned.members.up()[usize::from(member)]).unwrap_or(present)
    }
}
