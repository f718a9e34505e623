//! Random choices, and quantities as scenarios write them.

use anabranch_traffic::random::Stream;

const PS_PER_NS: u64 = 1_000;
/// Largest time that a scenario may hold, in picoseconds.
pub(crate) const TIME_PS_MAX: u64 = i64::MAX as u64;

/// Random numbers of one scenario.
pub(crate) struct Dice(Stream);

impl Dice {
    /// Starts from the seed of an attack and the number of a scenario in it.
    pub(crate) fn new(seed: u64, number: u32) -> Self {
        Self(Stream::of_entity(seed, "attack", number))
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    pub(crate) fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.0.below(most.max(1))
    }

    /// Draws a number from `least` to `most`, both included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most.max(least) - least + 1)
    }

    /// Draws a number from `least` to `most` whose orders of magnitude are equally likely.
    pub(crate) fn magnitude(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least.max(1) as f64).ln(), (most.max(1) as f64).ln());
        ((low + (high - low) * self.unit()).exp() as u64).clamp(least, most.max(least))
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Writes a text in quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    let fits = units.iter().find(|(_, worth)| value.is_multiple_of(*worth));
    let (unit, worth) = fits.copied().unwrap_or(units[units.len() - 1]);
    format!("\"{} {unit}\"", value / worth)
}

/// Writes a time.
pub(crate) fn time(ps: u64) -> String {
    let units =
        [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", PS_PER_NS), ("ps", 1)];
    if ps == 0 { "\"0 s\"".to_owned() } else { in_largest(ps.min(TIME_PS_MAX), &units) }
}

/// Writes a time in whole nanoseconds, no shorter than `ps`.
pub(crate) fn nanoseconds(ps: u64) -> String {
    time(ps.min(TIME_PS_MAX - PS_PER_NS).div_ceil(PS_PER_NS) * PS_PER_NS)
}

/// Writes a rate.
pub(crate) fn rate(bps: u64) -> String {
    in_largest(
        bps,
        &[
            ("Tbps", 1_000_000_000_000),
            ("Gbps", 1_000_000_000),
            ("Mbps", 1_000_000),
            ("kbps", 1_000),
            ("bps", 1),
        ],
    )
}

/// Writes a size.
pub(crate) fn size(bytes: u64) -> String {
    in_largest(bytes, &[("MB", 1_000_000), ("KB", 1_000), ("B", 1)])
}
