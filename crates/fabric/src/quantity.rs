//! Rates and times as text: a number, as programs write it, and a unit.

use crate::Rate;

/// Name of a unit, and its value in the smallest unit.
pub type Scale = (&'static str, u64);

/// Units of time, in picoseconds.
pub const TIMES: &[Scale] =
    &[("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];
/// Units of rate, in bits per second.
pub const RATES: &[Scale] =
    &[("Tbps", 1_000_000_000_000), ("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)];

/// Reads a rate; a bare number is in bits per second. `None` if the text is no rate or is outside the bounds of
/// [`Rate`].
#[must_use]
pub fn rate(text: &str) -> Option<Rate> {
    Rate::from_bps(smallest(text, RATES, "bps")?)
}

/// Reads a time in picoseconds; a bare number is in seconds. `None` if the text is no time, is negative, or is longer
/// than 2^53 picoseconds (two and a half hours), beyond which binary fractions no longer distinguish picoseconds.
#[must_use]
pub fn time_ps(text: &str) -> Option<u64> {
    smallest(text, TIMES, "s")
}

/// Reduces the spellings of a unit to the one that tables have: `us` for `µs`, `Gbps` for `Gbit/s` and `Gb/s`.
#[must_use]
pub fn spelling(unit: &str) -> String {
    match unit {
        "\u{b5}s" | "\u{3bc}s" => "us".to_owned(),
        "Kbps" => "kbps".to_owned(),
        other => other.replace("bit/s", "bps").replace("b/s", "bps"),
    }
}

/// Rounds to the nearest smallest unit: programs write binary fractions, such as 2.4999999999999998e-06 seconds.
fn smallest(text: &str, scales: &[Scale], plain: &str) -> Option<u64> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let exponent = |at: usize| {
        matches!(bytes[at], b'e' | b'E')
            && bytes.get(at + 1).is_some_and(|&next| next.is_ascii_digit() || matches!(next, b'+' | b'-'))
    };
    let end = text.char_indices().find(|&(at, c)| !(c.is_ascii_digit() || "+-.".contains(c) || exponent(at)));
    let (number, unit) = text.split_at(end.map_or(text.len(), |(at, _)| at));
    let unit = match unit.trim() {
        "" => plain.to_owned(),
        unit => spelling(unit),
    };
    let (_, worth) = scales.iter().find(|(name, _)| *name == unit)?;
    let value = (number.parse::<f64>().ok()? * *worth as f64).round();
    (0.0..=(1u64 << 53) as f64).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_as_programs_write_them() {
        for (text, ps) in [
            ("1 us", 1_000_000),
            ("1us", 1_000_000),
            ("1e-06", 1_000_000),
            ("1E-6 s", 1_000_000),
            ("2.4999999999999998e-06", 2_500_000),
            ("500 ns", 500_000),
            ("0", 0),
            ("0.3 \u{b5}s", 300_000),
        ] {
            assert_eq!(time_ps(text), Some(ps), "{text}");
        }
        for (text, bps) in [
            ("10 Gbps", 10_000_000_000),
            ("10000000000", 10_000_000_000),
            ("1e+10", 10_000_000_000),
            ("10000000000.0", 10_000_000_000),
            ("2.5 Gbit/s", 2_500_000_000),
            ("400Gb/s", 400_000_000_000),
        ] {
            assert_eq!(rate(text).map(Rate::bps), Some(bps), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in ["", "us", "-1 us", "1 1 us", "1 ks", "nan", "inf s", "1e s", "1e300", "1 Gbps"] {
            assert_eq!(time_ps(text), None, "{text}");
        }
        for text in ["0", "10", "10 us", "1e30", "101 Tbps"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
