//! Fractions that are kept in millionths.

use crate::form::Form;
use crate::unit::Fraction;

const MILLION: f64 = 1e6;

/// A key from 0 to 1, rounded to millionths.
pub(super) fn key(form: &mut impl Form, name: &'static str, millionths: &mut u32, meaning: &'static str) {
    let mut fraction = f64::from(*millionths) / MILLION;
    form.key(name, Fraction, &mut fraction, meaning);
    *millionths = (fraction * MILLION).round() as u32;
}
