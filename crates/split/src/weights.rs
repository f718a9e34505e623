//! Desired split: a weight per member, and which members are alive.

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Number of members of the largest group. Member numbers fit u16 with room for a "none".
pub(crate) const MEMBERS_MAX: usize = 1024;
/// Largest sum of weights: it keeps every product of a weight and a slot or flow count below 2^127.
const SUM_MAX: u64 = 1 << 53;

/// Reason why a plan cannot be made, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {hint}")]
pub struct PlanError {
    /// Key and value at fault, and what is wrong with them.
    pub problem: String,
    /// Values that would work.
    pub hint: String,
}

impl PlanError {
    /// Joins the two halves of an error.
    pub fn new(problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: hint.into() }
    }
}

/// Weights as exact integers: decimals are scaled by one common power of ten, so that no rounding enters a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights(Vec<u64>);

impl Weights {
    /// Takes integers; at least one must be positive, at most 1024 of them, their sum at most 2^53.
    ///
    /// # Errors
    /// Refuses an empty list, too many weights, only zeros, and too large a sum.
    pub fn new(weights: Vec<u64>) -> Result<Self, PlanError> {
        if weights.is_empty() {
            return Err(PlanError::new(
                "weights: the list is empty",
                "give one weight per path, as in 4,3,2",
            ));
        }
        if weights.len() > MEMBERS_MAX {
            return Err(PlanError::new(
                format!("weights: {} paths", weights.len()),
                format!("a group has at most {MEMBERS_MAX} paths"),
            ));
        }
        let sum = weights.iter().try_fold(0u64, |sum, &w| sum.checked_add(w).filter(|&s| s <= SUM_MAX));
        match sum {
            None => Err(PlanError::new(
                "weights: their sum, written as integers, exceeds 2^53",
                "use smaller weights or fewer decimal places",
            )),
            Some(0) => {
                Err(PlanError::new("weights: all are zero", "give at least one path a positive weight"))
            }
            Some(_) => Ok(Self(weights)),
        }
    }

    /// Reads decimal numbers as people write them (`4`, `2.5`, `1e3`).
    ///
    /// # Errors
    /// Refuses text that is no number, a negative or infinite one, and weights that [`Self::new`] refuses.
    pub fn parse<S: AsRef<str>>(texts: &[S]) -> Result<Self, PlanError> {
        let numbers = texts
            .iter()
            .enumerate()
            .map(|(i, text)| Decimal::parse(text.as_ref().trim(), i + 1))
            .collect::<Result<Vec<_>, _>>()?;
        let lowest = numbers.iter().map(|d| d.exponent).min().unwrap_or(0).min(0);
        let scaled = numbers
            .iter()
            .enumerate()
            .map(|(i, d)| {
                10u64
                    .checked_pow(d.exponent.abs_diff(lowest))
                    .and_then(|scale| d.digits.checked_mul(scale))
                    .ok_or_else(|| {
                        PlanError::new(
                            format!("weights: path {} ({}) needs too many digits", i + 1, texts[i].as_ref()),
                            "keep all weights within 15 significant digits of each other",
                        )
                    })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Self::new(scaled)
    }

    /// Integers, one per member.
    #[must_use]
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }
}

/// Decimal number `digits * 10^exponent`, exactly.
struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    fn parse(text: &str, path: usize) -> Result<Self, PlanError> {
        let bad = |why: &str| {
            PlanError::new(
                format!("weights: path {path} has weight `{text}`, {why}"),
                "give non-negative numbers, as in 4,3,2.5",
            )
        };
        if text.starts_with('-') {
            return Err(bad("which is negative"));
        }
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let exponent = exponent.parse::<i32>().map_err(|_| bad("which is not a number"))?;
                if exponent.abs() > 30 {
                    return Err(bad("whose exponent is out of range"));
                }
                (mantissa, exponent)
            }
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let both = [whole, fraction].concat();
        if (whole.is_empty() && fraction.is_empty()) || !both.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad("which is not a number"));
        }
        let digits = if both.is_empty() { "0".to_string() } else { both };
        let digits = digits.parse::<u64>().map_err(|_| bad("which has too many digits"))?;
        if digits == 0 {
            return Ok(Self { digits, exponent: 0 });
        }
        let exponent =
            exponent - i32::try_from(fraction.len()).map_err(|_| bad("which has too many digits"))?;
        Ok(Self { digits, exponent })
    }
}

/// Current state of a group: weights, and which members carry traffic. Dead members count as weight zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Members {
    weights: Weights,
    up: Vec<bool>,
    /// Remaining weights, where liveness alone does not say them.
    left: Option<Weights>,
    /// Members that take no new connections, one flag each; empty if none drains.
    draining: Vec<bool>,
}

impl Members {
    /// Makes a group with all members alive.
    #[must_use]
    pub fn all_up(weights: Weights) -> Self {
        let up = std::vec![true; weights.as_slice().len()];
        Self { weights, up, left: None, draining: Vec::new() }
    }

    /// Members of which something may be missing: `left` is what is left of each asked weight, or more where others'
    /// share went. If the lists differ in length, `left` stands for both.
    #[must_use]
    pub fn lessened(weights: Weights, left: Weights) -> Self {
        let weights = if weights.0.len() == left.0.len() { weights } else { left.clone() };
        let up = left.0.iter().map(|&weight| weight > 0).collect();
        Self { weights, up, left: Some(left), draining: Vec::new() }
    }

    /// Makes a group with a liveness mask, one flag per member.
    ///
    /// # Errors
    /// Refuses a mask of another length, and one that leaves no member with a positive weight alive.
    pub fn new(weights: Weights, up: Vec<bool>) -> Result<Self, PlanError> {
        let n = weights.as_slice().len();
        if up.len() != n {
            return Err(PlanError::new(
                format!("up: {} flags for {n} paths", up.len()),
                "give one flag per path",
            ));
        }
        let members = Self { weights, up, left: None, draining: Vec::new() };
        if members.effective().iter().all(|&w| w == 0) {
            return Err(PlanError::new(
                "up: no path with a positive weight is alive",
                "keep one path up: with none, every packet would be dropped",
            ));
        }
        Ok(members)
    }

    /// Number of members, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.up.len()
    }

    /// Never true: a group has at least one member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.up.is_empty()
    }

    /// Desired weights of all members, alive or not.
    #[must_use]
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// Liveness, one flag per member.
    #[must_use]
    pub fn up(&self) -> &[bool] {
        &self.up
    }

    /// Remaining weights, where liveness alone does not say them.
    pub(crate) fn left(&self) -> Option<&Weights> {
        self.left.as_ref()
    }

    /// Whether a member drains: it takes no new connections, and weighs nothing in a plan.
    #[must_use]
    pub fn is_draining(&self, member: usize) -> bool {
        self.draining.get(member).is_some_and(|&drains| drains)
    }

    /// Members that take new connections, one flag each: they are up and do not drain.
    pub(crate) fn taking(&self) -> Vec<bool> {
        self.up.iter().enumerate().map(|(member, &up)| up && !self.is_draining(member)).collect()
    }

    /// Members that drain, one flag each, or none.
    pub(crate) fn draining(&self) -> &[bool] {
        &self.draining
    }

    /// The same members, of which those drain that `draining` says and that others can stand in for: where no other is up
    /// with a positive weight, none drains.
    pub(crate) fn drained(mut self, draining: Vec<bool>) -> Self {
        self.draining = draining;
        if (0..self.len()).all(|member| self.weight_left(member) == 0) {
            self.draining.clear();
        }
        self
    }

    /// Weights by which a plan splits: zero for members that are dead or drain.
    #[must_use]
    pub fn effective(&self) -> Vec<u64> {
        (0..self.len()).map(|member| self.weight_left(member)).collect()
    }

    /// Weight by which a plan splits for one member: zero for one that is dead or drains.
    pub(crate) fn weight_left(&self, member: usize) -> u64 {
        let weights = self.left.as_ref().unwrap_or(&self.weights);
        if self.up[member] && !self.is_draining(member) { weights.0[member] } else { 0 }
    }

    /// Whether every member carries what was asked of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.effective() == self.weights.0
    }

    /// Desired share of each member, `w_i / W` over the living ones.
    #[must_use]
    pub fn asked(&self) -> Vec<f64> {
        let effective = self.effective();
        let sum = effective.iter().sum::<u64>() as f64;
        effective.iter().map(|&w| w as f64 / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(Weights::parse(&["4", "3", "2"]).unwrap().as_slice(), [4, 3, 2]);
        assert_eq!(Weights::parse(&["0.1", " 0.25", "1"]).unwrap().as_slice(), [10, 25, 100]);
        assert_eq!(Weights::parse(&["1e3", "1.5e1", ".5"]).unwrap().as_slice(), [10_000, 150, 5]);
        assert_eq!(Weights::parse(&["2.0", "0", "0.00"]).unwrap().as_slice(), [2, 0, 0]);
    }

    #[test]
    fn what_is_no_weight_is_refused_by_path() {
        for bad in ["-1", "x", "", "nan", "inf", "1.2.3", "1e99", "99999999999999999999999", "."] {
            let error = Weights::parse(&["1", bad]).unwrap_err().to_string();
            assert!(error.contains("path 2"), "{bad}: {error}");
        }
        assert!(Weights::parse(&["0", "0"]).is_err());
        assert!(Weights::parse::<&str>(&[]).is_err());
        assert!(Weights::parse(&["1e15", "1e-15"]).is_err());
        assert!(Weights::new(vec![1; 1025]).is_err());
    }

    #[test]
    fn the_dead_have_no_share() {
        let members = Members::new(Weights::new(vec![4, 3, 2]).unwrap(), vec![true, false, true]).unwrap();
        assert_eq!(members.effective(), [4, 0, 2]);
        assert_eq!(members.asked(), [4.0 / 6.0, 0.0, 2.0 / 6.0]);
        assert!(Members::new(Weights::new(vec![1, 0]).unwrap(), vec![false, true]).is_err());
    }
}
