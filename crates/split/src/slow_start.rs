//! Slow start: a member that has just joined or come back gets its share little by little.

use crate::{Members, PlanError, Weights};
use std::format;
use std::vec::Vec;

/// What is left of a weight counts in units of 2^-16 of it.
const WHOLE: u64 = 1 << 16;

/// Slow start of members: a rule from the time since a member began to the part of its weight that it gets,
/// `max(min_percent / 100, (age / window)^(1 / aggression))`, as Envoy's documentation has it ("Slow start mode", v1.31).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStart {
    window_ns: u64,
    aggression: f64,
    min_percent: f64,
}

impl SlowStart {
    /// Takes the time in nanoseconds after which a member has its whole weight, the aggression (1 is a straight line,
    /// more is faster at first), and the percentage of the weight that a member has from the beginning.
    ///
    /// # Errors
    /// A window of zero, an aggression that is not positive, a percentage outside 0 to 100.
    pub fn new(window_ns: u64, aggression: f64, min_percent: f64) -> Result<Self, PlanError> {
        let refused = |key: &str, value: &str, hint| {
            Err(PlanError::new(format!("{key}: {value} makes no slow start"), hint))
        };
        if window_ns == 0 {
            return refused(
                "window",
                "0",
                "give the time after which a member has its whole weight, as 60 s",
            );
        }
        if !(aggression > 0.0 && aggression.is_finite()) {
            return refused(
                "aggression",
                &format!("{aggression}"),
                "give a number above 0; 1 is a straight line",
            );
        }
        if !(0.0..=100.0).contains(&min_percent) {
            return refused(
                "min_percent",
                &format!("{min_percent}"),
                "give a percentage from 0 to 100, as 10",
            );
        }
        Ok(Self { window_ns, aggression, min_percent })
    }

    /// Part of its weight that a member of this age has, in units of 2^-16, at least one.
    fn part(&self, age_ns: u64) -> u64 {
        if age_ns >= self.window_ns {
            return WHOLE;
        }
        // By a library of its own, so that replicas on any machine come to the same bits.
        let grown = libm::pow(age_ns as f64 / self.window_ns as f64, 1.0 / self.aggression);
        (libm::round(grown.max(self.min_percent / 100.0) * WHOLE as f64) as u64).max(1)
    }

    /// `members` with what slow start leaves of each weight. `ages_ns` has the time since each began, `None` for one
    /// that is not starting. When all have their whole weight the result is `members` again, so that a group ends with
    /// the table that it would have without slow start.
    ///
    /// # Errors
    /// Another number of ages than of members, and weights whose sum exceeds 2^37 while a member is starting.
    pub fn lessened(&self, members: &Members, ages_ns: &[Option<u64>]) -> Result<Members, PlanError> {
        let weights = members.weights();
        if ages_ns.len() != members.len() {
            return Err(PlanError::new(
                format!("ages: {} for {} paths", ages_ns.len(), members.len()),
                "give one age per path, none for a path that is not starting",
            ));
        }
        let parts = ages_ns.iter().map(|age| age.map_or(WHOLE, |age| self.part(age))).collect::<Vec<_>>();
        let starts = |(&part, &up): (&u64, &bool)| up && part < WHOLE;
        if !parts.iter().zip(members.up()).any(starts) {
            return Members::new(weights.clone(), members.up().to_vec());
        }
        let left = weights.as_slice().iter().zip(&parts).zip(members.up());
        let left =
            left.map(|((&weight, &part), &up)| if up { u128::from(weight) * u128::from(part) } else { 0 });
        let left = left.collect::<Vec<_>>();
        let divisor = left.iter().copied().fold(0, divisor).max(1);
        let left = left.iter().map(|weight| u64::try_from(weight / divisor).unwrap_or(u64::MAX)).collect();
        match Weights::new(left) {
            Ok(left) => Ok(Members::lessened(weights.clone(), left)),
            Err(_) => Err(PlanError::new(
                "weights: their sum, written as integers, exceeds 2^37 while a path is starting",
                "use smaller weights or fewer decimal places",
            )),
        }
    }
}

/// Greatest common divisor (Euclid).
fn divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn parts_are_those_of_the_formula() {
        let line = SlowStart::new(60 * SECOND, 1.0, 10.0).unwrap();
        let root = SlowStart::new(60 * SECOND, 2.0, 0.0).unwrap();
        assert_eq!(
            [0, 3, 30, 59, 60, 99].map(|s| line.part(s * SECOND)),
            [6554, 6554, 32768, 64444, 65536, 65536]
        );
        assert_eq!([0, 15, 60].map(|s| root.part(s * SECOND)), [1, 32768, 65536]);
    }

    #[test]
    fn what_is_left_is_exact_and_the_whole_is_the_whole() {
        let rule = SlowStart::new(60 * SECOND, 1.0, 10.0).unwrap();
        let members =
            Members::new(Weights::new(vec![4, 3, 2, 5]).unwrap(), vec![true, true, true, false]).unwrap();
        let half = rule.lessened(&members, &[None, Some(30 * SECOND), None, Some(0)]).unwrap();
        assert_eq!(half.effective(), [8, 3, 4, 0]);
        assert_eq!(half.weights(), members.weights());
        // Steps do not add up: each begins from the asked weights.
        assert_eq!(rule.lessened(&half, &[None, Some(30 * SECOND), None, None]).unwrap(), half);
        assert_eq!(rule.lessened(&half, &[None, Some(60 * SECOND), None, None]).unwrap(), members);
    }

    #[test]
    fn what_makes_no_slow_start_is_refused() {
        for (rule, key) in [
            (SlowStart::new(0, 1.0, 10.0), "window: 0 "),
            (SlowStart::new(1, 0.0, 10.0), "aggression: 0 "),
            (SlowStart::new(1, f64::NAN, 10.0), "aggression: NaN "),
            (SlowStart::new(1, 1.0, 101.0), "min_percent: 101 "),
        ] {
            assert!(rule.unwrap_err().to_string().starts_with(key));
        }
        let rule = SlowStart::new(1000, 1.0, 10.0).unwrap();
        let large = Members::all_up(Weights::new(vec![(1 << 52) - 1, (1 << 52) - 3]).unwrap());
        assert!(rule.lessened(&large, &[Some(17), None]).unwrap_err().problem.contains("2^37"));
        assert_eq!(rule.lessened(&large, &[None, None]).unwrap(), large);
        assert!(rule.lessened(&large, &[None]).unwrap_err().problem.starts_with("ages: 1 for 2 paths"));
        // What all have in common counts for nothing.
        let alone = Members::all_up(Weights::new(vec![1 << 53, 0]).unwrap());
        assert_eq!(rule.lessened(&alone, &[Some(1), None]).unwrap().effective(), [1, 0]);
    }
}
