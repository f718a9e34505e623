//! Greatest common divisor of weights.

/// Greatest common divisor; the other number if one is zero.
#[must_use]
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
