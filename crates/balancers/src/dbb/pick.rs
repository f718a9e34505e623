//! Decisions of DBB; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::capability;
use anabranch_split::picks::flow_cycle::Start;
use anabranch_split::picks::{Cycle, FlowCycle, Pick};

/// Owner of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Counter {
    /// All packets of a pair of leaves share a counter.
    #[default]
    Shared,
    /// The packets of each flow have a counter.
    Independent,
    /// Nothing: each packet draws its link, all alike (a mutation).
    Drawn,
}

/// Counter of a pair of leaves at a switch: its cycle begins where its state says.
pub type Shared = Cycle;

/// Counter of each flow.
pub type Independent<C, M> = FlowCycle<C, M>;

/// Parameters of the switches, besides their lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Owner of the counters.
    pub counter: Counter,
    /// Entry at which a counter begins. `None`: the first entry for a shared counter, a random one for a flow's.
    pub start: Option<Start>,
    /// Silence after which a flow's counter is forgotten, in nanoseconds.
    pub idle_ns: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { counter: Counter::Shared, start: None, idle_ns: 100_000_000 }
    }
}

impl Parameters {
    /// Bits of [`capability`] that it needs: switches behind the first recognise a packet's pair by a tag.
    #[must_use]
    pub fn needs(&self) -> u32 {
        let start = if self.start() == Start::Random { capability::RANDOM } else { 0 };
        let counter = match self.counter {
            Counter::Shared => Shared::NEEDS,
            Counter::Independent => capability::CLOCK,
            Counter::Drawn => capability::RANDOM,
        };
        capability::TAG | start | counter
    }

    /// Entry at which counters begin.
    #[must_use]
    pub fn start(&self) -> Start {
        self.start.unwrap_or(match self.counter {
            Counter::Shared | Counter::Drawn => Start::First,
            Counter::Independent => Start::Random,
        })
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use anabranch_split::{Packet, Still, pick};
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
