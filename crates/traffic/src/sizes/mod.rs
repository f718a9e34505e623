//! Flow sizes: fixed, uniform, or drawn from a cumulative distribution, published or the user's own.

mod cdf;
mod published;

pub use cdf::{Cdf, Convention};
pub use published::{PUBLISHED, Published};

use crate::random::Stream;

/// Distribution of flow sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All flows have this size in bytes.
    Fixed(u64),
    /// All whole numbers of bytes from the first to the second, both included, are equally likely.
    Uniform(u64, u64),
    /// Sizes follow a cumulative distribution.
    Cdf(Cdf),
}

impl Sizes {
    /// Draws a flow size in bytes, at least one.
    pub fn draw_bytes(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed(bytes) => *bytes,
            Self::Uniform(least, most) => least + stream.below(most - least + 1),
            Self::Cdf(cdf) => cdf.draw_bytes(stream),
        }
    }

    /// Mean in bytes, from which arrival rates are computed.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Uniform(least, most) => (*least as f64 + *most as f64) / 2.0,
            Self::Cdf(cdf) => cdf.mean_bytes(),
        }
    }

    /// Reason why no flow can be drawn: what is wrong, and a hint.
    pub(crate) fn fault(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Fixed(0) => Some(("0 bytes".to_string(), "give every flow at least one byte")),
            Self::Uniform(least, most) if *least == 0 || least > most => Some((
                format!("from {least} to {most} bytes"),
                "give the smaller size first, of at least one byte",
            )),
            Self::Fixed(_) | Self::Uniform(..) | Self::Cdf(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniform_sizes_reach_both_ends_and_keep_their_mean() {
        let sizes = Sizes::Uniform(3, 7);
        let mut stream = Stream::new(1, "test of sizes");
        let mut seen = [0u64; 9];
        for _ in 0..100_000 {
            seen[sizes.draw_bytes(&mut stream) as usize] += 1;
        }
        // 20,000 each, deviation 126.
        assert!(seen[3..8].iter().all(|&n| n.abs_diff(20_000) < 600), "{seen:?}");
        assert_eq!(seen[..3].iter().sum::<u64>() + seen[8], 0);
        assert_eq!(sizes.mean_bytes(), 5.0);
        assert_eq!(Sizes::Fixed(1500).draw_bytes(&mut stream), 1500);
    }

    #[test]
    fn sizes_that_are_none_say_so() {
        assert!(Sizes::Fixed(0).fault().is_some());
        assert!(Sizes::Uniform(0, 5).fault().is_some());
        assert!(Sizes::Uniform(6, 5).fault().is_some());
        assert!(Sizes::Uniform(5, 5).fault().is_none());
    }
}
