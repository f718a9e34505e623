//! Messages of one stream that were carried, and by them the time that the next is expected to take.

use crate::FlowRecord;
use std::collections::VecDeque;

/// The last durations of something, in picoseconds, which take turns.
struct Durations {
    last_ps: VecDeque<u64>,
    kept: usize,
    next: usize,
}

/// Time of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time {
    /// From when it was ready to its delivery, in picoseconds.
    pub(super) whole_ps: u64,
    /// From the delivery of the message before it between its hosts, if there was one, in picoseconds.
    pub(super) gap_ps: Option<u64>,
    /// Whether it was ready before that.
    pub(super) follows: bool,
}

/// Time that a message is expected to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// So long from when it is ready, in picoseconds, and at least so long from the delivery of the message that it
    /// follows.
    Whole { whole_ps: u64, gap_least_ps: u64 },
    /// So long from the delivery of the message that it follows, in picoseconds.
    Gap(u64),
}

/// Messages of a stream so far.
pub(super) struct Past {
    /// Messages that followed none, from when they were ready.
    alone: Durations,
    /// Messages that followed one, from when they were ready, and from its delivery.
    behind: Durations,
    gaps: Durations,
    gap_least_ps: u64,
    /// Counters of the message that ended last.
    pub(super) counters: Option<FlowRecord>,
}

impl Durations {
    fn new(kept: usize) -> Self {
        Self { last_ps: VecDeque::new(), kept, next: 0 }
    }

    fn note(&mut self, duration_ps: u64) {
        if self.last_ps.len() == self.kept {
            self.last_ps.pop_front();
        }
        self.last_ps.push_back(duration_ps);
    }

    /// Whether their standard deviation is `band` of their mean at most.
    fn are_steady(&self, band: f64) -> bool {
        let count = self.last_ps.len() as f64;
        let mean = self.last_ps.iter().map(|&ps| ps as f64).sum::<f64>() / count;
        let squares = self.last_ps.iter().map(|&ps| (ps as f64 - mean).powi(2)).sum::<f64>();
        (squares / (count - 1.0)).sqrt() <= band * mean
    }

    /// The next: streams that were observed together are replayed together.
    fn take(&mut self) -> u64 {
        self.next += 1;
        self.last_ps[self.next % self.last_ps.len()]
    }
}

impl Expected {
    /// When a message is delivered that was ready at one time, and that was the first between its hosts since another.
    pub(super) fn due_ps(self, ready_ps: u64, since_ps: u64) -> u64 {
        match self {
            Self::Whole { whole_ps, .. } if since_ps == ready_ps => ready_ps + whole_ps,
            Self::Whole { whole_ps, gap_least_ps } => (ready_ps + whole_ps).max(since_ps + gap_least_ps),
            Self::Gap(gap_ps) => since_ps + gap_ps,
        }
    }
}

impl Past {
    /// Nothing is known yet; so many durations will be kept.
    pub(super) fn new(kept: usize) -> Self {
        let [alone, behind, gaps] = [(); 3].map(|()| Durations::new(kept));
        Self { alone, behind, gaps, gap_least_ps: u64::MAX, counters: None }
    }

    /// A message has been carried whole.
    pub(super) fn note(&mut self, time: Time) {
        if let Some(gap_ps) = time.gap_ps {
            self.gap_least_ps = self.gap_least_ps.min(gap_ps);
        }
        match time.gap_ps {
            Some(gap_ps) if time.follows => {
                self.behind.note(time.whole_ps);
                self.gaps.note(gap_ps);
            }
            _ => self.alone.note(time.whole_ps),
        }
    }

    /// Whether so many messages were carried.
    pub(super) fn has(&self, learn: usize) -> bool {
        self.alone.last_ps.len().max(self.behind.last_ps.len()) >= learn
    }

    /// The durations that say what a message takes, if so many were observed and they are steady, and whether they are gaps.
    fn steady(&mut self, follows: bool, learn: usize, band: f64) -> Option<(&mut Durations, bool)> {
        let Self { alone, behind, gaps, .. } = self;
        let [own, other] = if follows { [behind, alone] } else { [alone, behind] };
        let whole = if own.last_ps.len() >= learn { own } else { other };
        if whole.last_ps.len() >= learn && whole.are_steady(band) {
            return Some((whole, false));
        }
        (follows && gaps.last_ps.len() >= learn && gaps.are_steady(band)).then_some((gaps, true))
    }

    /// Whether the next message is known.
    pub(super) fn is_known(&mut self, follows: bool, learn: usize, band: f64) -> bool {
        self.steady(follows, learn, band).is_some()
    }

    /// Time that the next message takes, if it is known.
    pub(super) fn expect(&mut self, follows: bool, learn: usize, band: f64) -> Option<Expected> {
        let gap_least_ps = if self.gap_least_ps == u64::MAX { 0 } else { self.gap_least_ps };
        let (durations, are_gaps) = self.steady(follows, learn, band)?;
        let taken_ps = durations.take();
        Some(if are_gaps {
            Expected::Gap(taken_ps)
        } else {
            Expected::Whole { whole_ps: taken_ps, gap_least_ps }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail.
mod tests {
    use super::*;

    fn time(whole_ps: u64, gap_ps: u64, follows: bool) -> Time {
        Time { whole_ps, gap_ps: Some(gap_ps), follows }
    }

    /// What follows ends no sooner behind the message before it than any did.
    #[test]
    fn a_message_keeps_its_distance_from_the_one_before() {
        let mut past = Past::new(8);
        [100, 101, 99].into_iter().for_each(|whole_ps| past.note(time(whole_ps, 80 + whole_ps % 3, true)));
        let expected = past.expect(true, 3, 0.03).unwrap();
        assert_eq!(expected, Expected::Whole { whole_ps: 101, gap_least_ps: 80 });
        assert_eq!(
            [expected.due_ps(10, 10), expected.due_ps(10, 25), expected.due_ps(10, 60)],
            [111, 111, 140]
        );
    }

    /// Messages that are all ready at once differ in what they take from then on, and not in their distance.
    #[test]
    fn messages_of_a_burst_are_known_by_their_distance() {
        let mut past = Past::new(8);
        (1..=4).for_each(|place| past.note(time(100 * place, 100, place > 1)));
        assert_eq!(past.expect(true, 3, 0.03), Some(Expected::Gap(100)));
        assert_eq!(Expected::Gap(100).due_ps(10, 60), 160);
        assert!(!past.is_known(false, 3, 0.03));
    }

    #[test]
    fn the_last_durations_take_turns() {
        let mut past = Past::new(3);
        [500, 100, 101, 102].into_iter().for_each(|whole_ps| past.note(time(whole_ps, 0, false)));
        let mut next = || match past.expect(false, 3, 0.03) {
            Some(Expected::Whole { whole_ps, .. }) => whole_ps,
            other => panic!("{other:?}"),
        };
        assert_eq!([next(), next(), next(), next()], [101, 102, 100, 101]);
    }
}
