//! The reference page's rows: every key with its default and its meaning.

use crate::form::{AnyKeys, Form, Keys};
use crate::origin::Origin;
use crate::unit::{Choice, Unit};

/// One key, or one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The keys that lead to it and its own, joined by dots.
    pub path: String,
    /// Description of the values that may be written.
    pub wants: Wants,
    /// The default as TOML, or why there is none.
    pub default: String,
    /// Meaning for people.
    pub meaning: &'static str,
}

/// Kind of value at a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wants {
    /// A value, described.
    Value(String),
    /// A table.
    Table,
    /// Any number of tables.
    Tables,
}

/// Collects rows.
#[derive(Default)]
pub struct Reference {
    prefix: String,
    /// Rows collected so far.
    pub rows: Vec<Row>,
}

impl Reference {
    fn row<U: Unit>(&mut self, name: &str, unit: &U, default: String, meaning: &'static str) {
        let path = format!("{}{name}", self.prefix);
        self.rows.push(Row { path, wants: Wants::Value(unit.wants()), default, meaning });
    }

    fn within(&mut self, name: &str, wants: Wants, meaning: &'static str, visit: impl FnOnce(&mut Self)) {
        let path = format!("{}{name}", self.prefix);
        let outer = std::mem::replace(&mut self.prefix, format!("{path}."));
        self.rows.push(Row { path, wants, default: String::new(), meaning });
        visit(self);
        self.prefix = outer;
    }
}

impl Keys for Reference {
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, meaning: &'static str) {
        let default = format!("`{}`", unit.write(value));
        self.row(name, &unit, default, meaning);
    }

    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        meaning: &'static str,
    ) {
        let default = value.as_ref().map_or("none".to_owned(), |value| format!("`{}`", unit.write(value)));
        self.row(name, &unit, default, meaning);
    }

    fn refuse(&mut self, _: &str, _: String, _: String) {}
}

impl Form for Reference {
    fn required<U: Unit>(&mut self, name: &'static str, unit: U, _: &mut U::Value, meaning: &'static str) {
        self.row(name, &unit, "required".to_owned(), meaning);
    }

    fn kind(&mut self, name: &'static str, choice: Choice, value: &mut &'static str, meaning: &'static str) {
        self.row(name, &choice, format!("`{}`", choice.write(value)), meaning);
    }

    fn table(&mut self, name: &'static str, meaning: &'static str, visit: impl FnOnce(&mut Self)) {
        self.within(name, Wants::Table, meaning, visit);
    }

    fn base(&mut self, name: &'static str, meaning: &'static str, visit: impl FnOnce(&mut Self)) {
        self.within(name, Wants::Table, meaning, visit);
    }

    fn optional_table<T>(
        &mut self,
        name: &'static str,
        item: &mut Option<T>,
        meaning: &'static str,
        _: impl Fn() -> T,
        visit: impl FnOnce(&mut Self, &mut T),
    ) {
        if let Some(item) = item {
            self.within(name, Wants::Table, meaning, |reference| visit(reference, item));
            return;
        }
        let path = format!("{}{name}", self.prefix);
        self.rows.push(Row { path, wants: Wants::Table, default: "none".to_owned(), meaning });
    }

    fn tables<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        meaning: &'static str,
        new: impl Fn() -> T,
        mut visit: impl FnMut(&mut Self, &mut T),
    ) {
        let mut item = items.pop().unwrap_or_else(new);
        self.within(name, Wants::Tables, meaning, |reference| visit(reference, &mut item));
    }

    fn origin(&self, _: &mut Origin) {}

    fn keys(&mut self) -> AnyKeys<'_> {
        AnyKeys::Reference(self)
    }
}
