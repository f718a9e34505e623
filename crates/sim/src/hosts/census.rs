//! Steps of all connections, which the parts of a fabric report to each other, in the order of events: how many connections
//! are open in the whole fabric, and which of them have closed.

use rustc_hash::FxHashMap;

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
    /// It opened for a flow, which had begun at a time.
    Opened { flow: u32, start_ps: u64 },
    /// Its sender has everything acknowledged: it closes, now or when its message is delivered.
    Acknowledged,
    /// Its message has arrived whole, and waits until those before it on its queue pair have.
    Arrived,
    /// Its message, which waited, is delivered.
    Delivered,
}

/// Connections of the whole fabric, as far as all parts have reported.
#[derive(Default)]
pub(super) struct Census {
    /// Steps that are not counted yet.
    steps: Vec<Step>,
    /// Connections whose message waits, and whether everything of it is acknowledged.
    waiting: FxHashMap<u32, bool>,
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
            let closes = match what {
                Happening::Opened { .. } => {
                    self.open += 1;
                    self.peak = self.peak.max(self.open);
                    false
                }
                Happening::Acknowledged => match self.waiting.get_mut(&name) {
                    Some(acknowledged) => {
                        *acknowledged = true;
                        false
                    }
                    None => true,
                },
                Happening::Arrived => {
                    self.waiting.insert(name, false);
                    false
                }
                Happening::Delivered => self.waiting.remove(&name) == Some(true),
            };
            if closes {
                self.open -= 1;
                closed.push(name);
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection closes when it is acknowledged and its message does not wait, whichever comes last; steps that come early wait.
    #[test]
    fn a_connection_closes_by_the_later_of_two_steps() {
        let mut census = Census::default();
        let steps = [
            (9, 2, Happening::Delivered),
            (1, 1, Happening::Opened { flow: 0, start_ps: 0 }),
            (2, 2, Happening::Opened { flow: 1, start_ps: 0 }),
            (4, 2, Happening::Arrived),
            (6, 2, Happening::Acknowledged),
            (6, 1, Happening::Acknowledged),
        ];
        for (position, name, what) in steps {
            census.note(Step { position, name, what });
        }
        assert_eq!((census.settle(6), census.peak), (vec![], 2));
        assert_eq!(census.settle(9), vec![1]);
        assert_eq!((census.settle(10), census.open), (vec![2], 0));
    }
}
