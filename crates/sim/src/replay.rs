//! Replay: messages of graphs that repeat are not simulated packet by packet any more.

/// When messages are replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replay {
    /// Least share of messages that are carried packet by packet, in (0, 1).
    pub sample: f64,
    /// Messages of a stream that are carried before one is replayed.
    pub learn: u32,
    /// Largest standard deviation of the durations of a stream that is replayed, as a part of their mean.
    pub band: f64,
}

/// Messages that were replayed and carried in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplayRecord {
    /// Messages that were replayed.
    pub replayed: u64,
    /// Messages that were carried packet by packet.
    pub carried: u64,
    /// Phases in which messages were carried although they were known, to compare them.
    pub samples: Vec<ReplaySample>,
    /// Times that all was forgotten: by a change of the fabric, or since a sample was off.
    pub forgotten: u64,
}

/// Messages that were carried although they were known: durations as they were, and as replay had expected them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaySample {
    /// Durations, in picoseconds, in the order of their ends.
    pub observed_ps: Vec<u64>,
    /// Durations that were expected, in picoseconds.
    pub expected_ps: Vec<u64>,
}

/// Error of a sample, as a part of the durations, above which what was learned does not hold.
const ERROR_MAX: f64 = 0.01;

impl ReplaySample {
    /// Whether replay was so far off that what it had learned does not hold.
    pub(crate) fn is_off(&self) -> bool {
        self.error().is_some_and(|error| error.abs() > ERROR_MAX)
    }

    /// By how much what was expected is above what was, in sum, as a part of that. None of an empty sample.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let sum = |durations: &[u64]| durations.iter().map(|&ps| u128::from(ps)).sum::<u128>() as f64;
        (!self.observed_ps.is_empty()).then(|| sum(&self.expected_ps) / sum(&self.observed_ps) - 1.0)
    }

    /// The same of the duration that 99 of 100 messages do not exceed.
    #[must_use]
    pub fn p99_error(&self) -> Option<f64> {
        let p99 = |durations: &[u64]| {
            let mut sorted = durations.to_vec();
            sorted.sort_unstable();
            sorted.get((sorted.len() * 99).div_ceil(100).saturating_sub(1)).map(|&ps| ps as f64)
        };
        Some(p99(&self.expected_ps)? / p99(&self.observed_ps)? - 1.0)
    }
}

impl ReplayRecord {
    /// All samples as one.
    #[must_use]
    pub fn sample(&self) -> ReplaySample {
        let all = |of: fn(&ReplaySample) -> &Vec<u64>| self.samples.iter().flat_map(of).copied().collect();
        ReplaySample {
            observed_ps: all(|sample| &sample.observed_ps),
            expected_ps: all(|sample| &sample.expected_ps),
        }
    }
}
