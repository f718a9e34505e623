//! Random numbers, one stream per purpose: a purpose that draws more does not change the numbers of the others.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use xxhash_rust::xxh3::{xxh3_64_with_seed, xxh3_128_with_seed};

/// Stream of random numbers (PCG XSL RR 128/64, O'Neill 2014), fixed by a seed and the name of its purpose.
#[derive(Debug)]
pub struct Stream(Pcg64);

/// Maps the upper 53 bits to a number in [0, 1).
#[must_use]
pub fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

impl Stream {
    /// Starts the stream of a purpose. Start and increment are hashed, because PCG streams that share a start are
    /// correlated.
    #[must_use]
    pub fn new(seed: u64, purpose: &str) -> Self {
        let name = purpose.as_bytes();
        Self(Pcg64::new(xxh3_128_with_seed(name, seed), u128::from(xxh3_64_with_seed(name, !seed))))
    }

    /// Starts the stream of one entity (a host, a switch, a port) for one purpose: a new entity does not change the
    /// numbers of the others.
    #[must_use]
    pub fn of_entity(seed: u64, purpose: &str, entity: u32) -> Self {
        Self::new(Self::entity_seed(seed, entity), purpose)
    }

    /// Seed of all streams of one entity, for [`Self::new`] when a stream is first needed.
    #[must_use]
    pub fn entity_seed(seed: u64, entity: u32) -> u64 {
        xxh3_64_with_seed(&entity.to_le_bytes(), seed)
    }

    /// Draws 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number from the uniform distribution on [0, 1).
    pub fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// Draws a whole number below `n`, by the high half of a product; its bias of n / 2^64 is negligible here.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Draws from the exponential distribution with this mean. It uses `libm`, so that every machine gets the same
    /// bits.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -libm::log1p(-self.unit()) * mean
    }

    /// Draws one row of `rows` in proportion to its weight, which `weight` reads.
    pub fn weighted<'a, T>(&mut self, rows: &'a [T], weight: impl Fn(&T) -> u32) -> &'a T {
        let sum = rows.iter().map(|row| u64::from(weight(row))).sum();
        let mut left = self.below(sum);
        for row in rows {
            let weight = u64::from(weight(row));
            if left < weight {
                return row;
            }
            left -= weight;
        }
        &rows[rows.len() - 1]
    }
}
