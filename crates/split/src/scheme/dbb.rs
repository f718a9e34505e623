#![doc = include_str!("dbb.md")]

use super::flow_cycle::Start;
use super::{Cycle, FlowCycle, Scheme};
use crate::capability;

/// Who counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Counter {
    /// All packets of a pair of leaves.
    #[default]
    Shared,
    /// The packets of each flow.
    Independent,
}

/// One counter of a pair at a switch: its cycle begins where its state says.
pub type Shared = Cycle;

/// A counter for each flow.
pub type Independent<C, M> = FlowCycle<C, M>;

/// What the switches are told besides their lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Who counts.
    pub counter: Counter,
    /// Where a counter begins. `None`: at the first entry if it is shared, anywhere if it is a flow's.
    pub start: Option<Start>,
    /// A flow's counter is forgotten after this silence, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { counter: Counter::Shared, start: None, idle_ns: 100_000_000 }
    }
}

impl Parameters {
    /// Bits of [`capability`] it cannot do without: switches behind the first know a packet's pair by a tag.
    #[must_use]
    pub fn needs(&self) -> u32 {
        let start = if self.start() == Start::Random { capability::RANDOM } else { 0 };
        let counter = match self.counter {
            Counter::Shared => Shared::NEEDS,
            Counter::Independent => capability::CLOCK,
        };
        capability::TAG | start | counter
    }

    /// Where counters begin.
    #[must_use]
    pub fn start(&self) -> Start {
        self.start.unwrap_or(match self.counter {
            Counter::Shared => Start::First,
            Counter::Independent => Start::Random,
        })
    }
}

#[cfg(all(test, feature = "plan"))]
mod tests {
    use super::*;
    use crate::{Packet, Still, pick};
    use std::vec::Vec;

    #[test]
    fn the_lists_of_figure_2_lay_out_table_3() {
        // S1's list, then those of S2 and S3, each switch counting its own arrivals.
        let (first, second) = ([2u16, 3], [[4u16, 5], [5, 4]]);
        let mut counters = [0u32; 3];
        let mut next = |list: &[u16], counter: usize| {
            pick::<Shared, _>(list, &mut counters[counter], &mut Packet::default(), &mut Still)
        };
        let paths: Vec<[u16; 2]> = (0..4)
            .map(|_| {
                let near = next(&first, 0);
                let at = usize::from(near - 2);
                [near, next(&second[at], 1 + at)]
            })
            .collect();
        assert_eq!(paths, [[2, 4], [3, 5], [2, 5], [3, 4]]);
    }

    #[test]
    fn flows_start_anywhere_and_pairs_at_the_first_entry() {
        let independent = Parameters { counter: Counter::Independent, ..Parameters::default() };
        assert_eq!(independent.start(), Start::Random);
        assert_eq!(Parameters::default().start(), Start::First);
        assert_eq!(Parameters { start: Some(Start::First), ..independent }.start(), Start::First);
    }
}
