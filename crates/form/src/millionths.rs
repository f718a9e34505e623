//! Fractions that are kept in millionths.

use crate::Keys;
use crate::unit::Fraction;

const MILLION: f64 = 1e6;

/// A key from 0 to 1, rounded to millionths.
pub fn millionths(form: &mut impl Keys, name: &'static str, value: &mut u32, meaning: &'static str) {
    let mut fraction = f64::from(*value) / MILLION;
    form.key(name, Fraction, &mut fraction, meaning);
    *value = (fraction * MILLION).round() as u32;
}
