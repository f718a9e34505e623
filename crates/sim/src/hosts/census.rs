//! Steps of all connections, which the parts of a fabric report to each other, in the order of events: how many connections
//! are open in the whole fabric, and which of them have closed.

use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Step of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Position of the event in the order of events.
    pub(crate) position: u64,
    /// The connection.
    pub(crate) name: u32,
    pub(crate) what: Happening,
}

/// What has happened to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    /// It opened for a flow, which had begun at a time, on a queue pair.
    Opened { flow: u32, queue_pair: u8, start_ps: u64 },
    /// Its sender has all of the flow acknowledged: it closes, now or when all parts of the flow are delivered.
    Acknowledged { flow: u32 },
    /// Its part of a flow has arrived whole, and waits until those before it on its queue pair have.
    Arrived { flow: u32 },
    /// Its part of a flow, which waited, is delivered.
    Delivered { flow: u32 },
    /// A flow will be delivered whole at a time, by the link of a port.
    Announced { flow: u32, port: u32, at_ps: u64 },
    /// A subflow of a flow of MPTCP was given these bytes of it to send.
    Mapped { flow: u32, subflow: u8, start: u64, end: u64 },
}

/// A flow of which some parts have arrived whole and wait for others.
#[derive(Default)]
struct Waiting {
    parts: u32,
    /// Its connections, once all of it is acknowledged.
    acknowledged: Vec<u32>,
}

/// Connections of the whole fabric, as far as all parts have reported.
#[derive(Default)]
pub(super) struct Census {
    /// Steps that are not counted yet.
    steps: Vec<Step>,
    /// Flows of which some parts wait.
    waiting: FxHashMap<u32, Waiting>,
    open: u64,
    /// Most connections that were open at once.
    pub(super) peak: u64,
}

impl Census {
    /// Notes a step; those of one part come in their order.
    pub(super) fn note(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// Counts the steps before a position, all of which are known. Returns the connections that closed.
    pub(super) fn settle(&mut self, before: u64) -> Vec<u32> {
        // Steps of one position are of one part, and stay in their order.
        self.steps.sort_by_key(|step| step.position);
        let known = self.steps.partition_point(|step| step.position < before);
        let mut closed = Vec::new();
        for Step { name, what, .. } in self.steps.drain(..known) {
            let before = closed.len();
            match what {
                Happening::Opened { .. } => {
                    self.open += 1;
                    self.peak = self.peak.max(self.open);
                }
                Happening::Acknowledged { flow } => match self.waiting.get_mut(&flow) {
                    Some(waiting) => waiting.acknowledged.push(name),
                    None => closed.push(name),
                },
                Happening::Arrived { flow } => self.waiting.entry(flow).or_default().parts += 1,
                Happening::Announced { .. } | Happening::Mapped { .. } => {}
                Happening::Delivered { flow } => {
                    if let Entry::Occupied(mut waiting) = self.waiting.entry(flow) {
                        waiting.get_mut().parts -= 1;
                        if waiting.get().parts == 0 {
                            closed.append(&mut waiting.remove().acknowledged);
                        }
                    }
                }
            }
            self.open -= (closed.len() - before) as u64;
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The connections of a flow close when it is acknowledged and no part of it waits, whichever comes last; steps that come
    /// early wait.
    #[test]
    fn connections_close_by_the_later_of_two_steps() {
        let mut census = Census::default();
        let opened = |flow, queue_pair| Happening::Opened { flow, queue_pair, start_ps: 0 };
        let steps = [
            (9, 2, Happening::Delivered { flow: 1 }),
            (8, 3, Happening::Delivered { flow: 1 }),
            (1, 1, opened(0, 0)),
            (2, 2, opened(1, 0)),
            (2, 3, opened(1, 1)),
            (4, 2, Happening::Arrived { flow: 1 }),
            (5, 3, Happening::Arrived { flow: 1 }),
            (6, 2, Happening::Acknowledged { flow: 1 }),
            (6, 3, Happening::Acknowledged { flow: 1 }),
            (6, 1, Happening::Acknowledged { flow: 0 }),
        ];
        for (position, name, what) in steps {
            census.note(Step { position, name, what });
        }
        assert_eq!((census.settle(6), census.peak), (vec![], 3));
        assert_eq!(census.settle(9), vec![1]);
        assert_eq!((census.settle(10), census.open), (vec![2, 3], 0));
    }
}
