//! One description of the keys, three uses: reading a document, writing it out in full, and the reference page.
//!
//! A section of a scenario is described once, by a function that shows each key and its value to a [`Form`].

mod read;
mod reference;
mod write;

pub(crate) use read::Reader;
pub(crate) use reference::{Reference, Row, Wants};
pub(crate) use write::{Writer, key};

use crate::origin::Origin;
use crate::unit::{Choice, Unit};

/// What is done with the keys of a table, one after the other.
pub(crate) trait Form {
    /// A key that may be left out: `value` is its default.
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str);

    /// A key that must be given.
    fn required<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str);

    /// A key that may be left out and then has no value.
    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        meaning: &'static str,
    );

    /// A name on which the other keys of this table depend: a wrong one hides what is wrong with them.
    fn kind(&mut self, name: &'static str, choice: Choice, value: &mut &'static str, meaning: &'static str);

    /// A table within this one.
    fn table(&mut self, name: &'static str, meaning: &'static str, visit: impl FnOnce(&mut Self));

    /// A table from which those after it take their defaults; never written, for they are written in full.
    fn base(&mut self, name: &'static str, meaning: &'static str, visit: impl FnOnce(&mut Self));

    /// A table that may be left out and then has no value; `new` makes one to be filled.
    fn optional_table<T>(
        &mut self,
        name: &'static str,
        item: &mut Option<T>,
        meaning: &'static str,
        new: impl Fn() -> T,
        visit: impl FnOnce(&mut Self, &mut T),
    );

    /// Any number of tables of one name; `new` makes one to be filled.
    fn tables<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        meaning: &'static str,
        new: impl Fn() -> T,
        visit: impl FnMut(&mut Self, &mut T),
    );

    /// A rule between keys that the values break; `name` is the key to change, or empty for the table as a whole.
    fn refuse(&mut self, name: &str, problem: String, mend: String);

    /// Remembers where this table and the keys visited so far stand.
    fn origin(&self, origin: &mut Origin);
}
