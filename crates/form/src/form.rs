//! One description of the keys, three uses: reading a document, writing it out in full, and the reference page.
//!
//! A section of a scenario is described once, by a function that shows each key and its value to a [`Form`].

use crate::origin::Origin;
use crate::unit::{Choice, Unit};
use crate::{Reader, Reference, Writer};

/// Visitor of single keys; load balancers show theirs to it.
pub trait Keys {
    /// A key that may be left out: `value` is its default.
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str);

    /// A key that may be left out and then has no value.
    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        meaning: &'static str,
    );

    /// A rule between keys that the values break; `name` is the key to change, or empty for the table as a whole.
    fn refuse(&mut self, name: &str, problem: String, hint: String);
}

/// Visitor of the keys and tables of a document.
pub trait Form: Keys {
    /// A key that must be given.
    fn required<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str);

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

    /// Remembers where this table and the keys visited so far stand.
    fn origin(&self, origin: &mut Origin);

    /// This form for keys alone, as a type without parameters.
    fn keys(&mut self) -> AnyKeys<'_>;
}

/// One of the three forms, for descriptions that are called through a trait object.
pub enum AnyKeys<'a> {
    /// A document is read.
    Reader(&'a mut Reader),
    /// Rows of the reference page are collected.
    Reference(&'a mut Reference),
    /// A document is written.
    Writer(&'a mut Writer),
}

impl Keys for AnyKeys<'_> {
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str) {
        match self {
            Self::Reader(form) => form.key(name, unit, value, meaning),
            Self::Reference(form) => form.key(name, unit, value, meaning),
            Self::Writer(form) => form.key(name, unit, value, meaning),
        }
    }

    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        meaning: &'static str,
    ) {
        match self {
            Self::Reader(form) => form.optional(name, unit, value, meaning),
            Self::Reference(form) => form.optional(name, unit, value, meaning),
            Self::Writer(form) => form.optional(name, unit, value, meaning),
        }
    }

    fn refuse(&mut self, name: &str, problem: String, hint: String) {
        match self {
            Self::Reader(form) => form.refuse(name, problem, hint),
            Self::Reference(form) => form.refuse(name, problem, hint),
            Self::Writer(form) => form.refuse(name, problem, hint),
        }
    }
}
