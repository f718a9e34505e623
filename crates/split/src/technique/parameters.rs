//! Parameters of a technique as `key = value` text, each read once; what nobody reads is an error.

use crate::PlanError;
use std::collections::BTreeMap;
use std::format;
use std::str::FromStr;
use std::string::{String, ToString};
use std::vec::Vec;

/// Values that the user set, and keys that a technique turned out to have.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    given: BTreeMap<String, String>,
    /// Keys that were read, each with the value that was taken.
    taken: Vec<(&'static str, String)>,
}

impl Parameters {
    /// From pairs, as in `slots=4096`.
    pub fn new<K: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (K, V)>) -> Self {
        let given = pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect();
        Self { given, taken: Vec::new() }
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The value of `key`, or `default`.
    ///
    /// # Errors
    /// A value that is no `T`.
    pub fn take<T: FromStr + ToString>(&mut self, key: &'static str, default: T) -> Result<T, PlanError> {
        let value = match self.given.remove(key) {
            None => default,
            Some(text) => text.parse().map_err(|_| {
                PlanError::new(
                    format!("{key}: `{text}` is not a valid value"),
                    format!("give {}", form::<T>()),
                )
            })?,
        };
        self.taken.push((key, value.to_string()));
        Ok(value)
    }

    /// The value of `key` among `choices`; the first is the default.
    ///
    /// # Errors
    /// A value that is none of them.
    pub fn take_choice(
        &mut self,
        key: &'static str,
        choices: &[&'static str],
    ) -> Result<&'static str, PlanError> {
        let text = self.take(key, choices[0].to_string())?;
        choices.iter().find(|c| **c == text).copied().ok_or_else(|| {
            PlanError::new(
                format!("{key}: `{text}` is not a valid value"),
                format!("use one of {}", choices.join(", ")),
            )
        })
    }

    /// Values of all keys that were read, those nobody set among them; refuses what was set and never read.
    ///
    /// # Errors
    /// Names the key and the keys there are.
    pub fn finish(self, technique: &str) -> Result<Self, PlanError> {
        match self.given.keys().next() {
            None => Ok(Self::new(self.taken)),
            Some(key) if self.taken.is_empty() => Err(PlanError::new(
                format!("{technique} has no parameter `{key}`"),
                "it takes none: leave it out",
            )),
            Some(key) => Err(PlanError::new(
                format!("{technique} has no parameter `{key}`"),
                format!("it takes {}", self.taken.iter().map(|&(key, _)| key).collect::<Vec<_>>().join(", ")),
            )),
        }
    }

    /// Values by key, in the order of the keys.
    pub(crate) fn pairs(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.given.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

/// Form of a value of `T`, for the hint of an error.
fn form<T>() -> &'static str {
    let name = core::any::type_name::<T>();
    if name.starts_with('u') {
        "a non-negative whole number"
    } else if name.starts_with('f') {
        "a number"
    } else if name == "bool" {
        "true or false"
    } else {
        "a word"
    }
}
