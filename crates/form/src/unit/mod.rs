//! How values are written: quantities with their units as text, everything else as TOML has it.

mod backlog;
mod list;
mod load;
mod name;
mod number;
mod quantity;
mod ranges;
#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test may fail, its helpers too.
mod tests;
mod word;

pub use backlog::{Ecn, Room};
pub use list::OneOrMore;
pub use load::Load;
pub use name::Name;
pub use name::Named;
pub use number::{Count, Fraction, Positive, Whole};
pub use quantity::{Bytes, Capacity, MemoryRate, Nanoseconds, Operations, Speed, Time};
pub use ranges::Ranges;
pub use word::{Choice, Flag, Text};

use crate::document::{Node, Table};
use crate::{Position, nearest};

/// Why a value is refused; the reader adds the key.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// Location of the value.
    pub position: Position,
    /// Problem for people.
    pub problem: String,
    /// Hint for people.
    pub hint: String,
}

/// How one kind of value is read and written. `read(write(v)) == v` for every value that can be read.
pub trait Unit {
    /// Value in the program.
    type Value;

    /// The value of a node.
    fn read(&self, node: &Node) -> Result<Self::Value, Refusal>;

    /// The value as TOML, in its one canonical form.
    fn write(&self, value: &Self::Value) -> String;

    /// Description of a valid value, after "give": `a time such as "12 us"`.
    fn wants(&self) -> String;

    /// A refusal of `node` with [`Self::wants`] as its hint.
    fn refuse(&self, node: &Node, problem: impl Into<String>) -> Refusal {
        Refusal {
            position: node.position.clone(),
            problem: problem.into(),
            hint: format!("give {}", self.wants()),
        }
    }

    /// The refusal of a value of the wrong type.
    fn refuse_type(&self, node: &Node) -> Refusal {
        self.refuse(node, format!("{} is not a valid value", node.value.describe()))
    }
}

impl Table {
    /// Refuses keys that are not among these.
    pub fn refuse_others(&self, known: &[&str]) -> Result<(), Refusal> {
        match self.0.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => Err(Refusal {
                position: entry.position.clone(),
                problem: format!("unknown key `{}`", entry.key),
                hint: nearest::hint(&entry.key, known.iter().copied()),
            }),
        }
    }
}

/// Text as a basic string of TOML.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
