//! Reading: every key once, what nobody read is an error.

use crate::document::{Entry, Table, Value};
use crate::form::{AnyKeys, Keys};
use crate::origin::Origin;
use crate::unit::{Choice, Unit};
use crate::{Form, FormError, Position, nearest};

/// In which order errors are worth telling: a wrong kind makes its table's keys unknown, and a misspelt key is missing
/// where it should be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Kind,
    Unknown,
    Value,
    Rule,
    Missing,
}

/// Fills values from a table, and collects what is wrong with it.
pub struct Reader {
    table: Table,
    /// Location of the first key of the table.
    position: Position,
    /// Keys that lead to it, each with its dot.
    path: String,
    known: Vec<&'static str>,
    /// Locations of the keys that were read.
    positions: Vec<(&'static str, Position)>,
    errors: Vec<(Rank, FormError)>,
}

impl Reader {
    /// A reader of a whole document.
    pub fn new(table: Table, position: Position) -> Self {
        Self::at(table, position, String::new())
    }

    fn at(table: Table, position: Position, path: String) -> Self {
        Self { table, position, path, known: Vec::new(), positions: Vec::new(), errors: Vec::new() }
    }

    /// The error most worth telling, if there is one.
    pub fn finish(mut self) -> Result<(), FormError> {
        self.refuse_unknown();
        // Stable: among equals the first found.
        self.errors.sort_by_key(|&(rank, _)| rank);
        match self.errors.into_iter().next() {
            None => Ok(()),
            Some((_, error)) => Err(error),
        }
    }

    fn refuse_unknown(&mut self) {
        for entry in std::mem::take(&mut self.table.0) {
            if !self.known.contains(&entry.key.as_str()) {
                let problem = format!("{}{}: unknown key", self.path, entry.key);
                let hint = nearest::hint(&entry.key, self.known.iter().copied());
                self.errors.push((Rank::Unknown, FormError::new(entry.position, problem, hint)));
            }
        }
    }

    /// The entry, which is then known.
    fn take(&mut self, name: &'static str) -> Option<Entry> {
        self.known.push(name);
        let index = self.table.0.iter().position(|entry| entry.key == name)?;
        let entry = self.table.0.remove(index);
        self.positions.push((name, entry.position.clone()));
        Some(entry)
    }

    fn value<U: Unit>(&mut self, rank: Rank, name: &'static str, unit: &U) -> Option<Option<U::Value>> {
        let entry = self.take(name)?;
        match unit.read(&entry.node) {
            Ok(value) => Some(Some(value)),
            Err(refusal) => {
                let problem = format!("{}{name}: {}", self.path, refusal.problem);
                self.errors.push((rank, FormError::new(refusal.position, problem, refusal.hint)));
                Some(None)
            }
        }
    }

    /// Visits `table` as a reader of its own.
    fn within(&mut self, position: Position, table: Table, step: &str, visit: impl FnOnce(&mut Self)) {
        let mut reader = Self::at(table, position, format!("{}{step}.", self.path));
        visit(&mut reader);
        reader.refuse_unknown();
        // A table of the wrong kind is wrong in that only.
        let first = reader.errors.iter().map(|&(rank, _)| rank).min();
        let kind_only = first == Some(Rank::Kind);
        self.errors.extend(reader.errors.into_iter().filter(|(rank, _)| !kind_only || *rank == Rank::Kind));
    }

    fn wrong_type(&mut self, position: Position, step: &str, value: &Value, hint: String) {
        let problem = format!("{}{step}: it is {}", self.path, value.describe());
        self.errors.push((Rank::Value, FormError::new(position, problem, hint)));
    }
}

impl Keys for Reader {
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, _: &'static str) {
        if let Some(Some(given)) = self.value(Rank::Value, name, &unit) {
            *value = given;
        }
    }

    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        _: &'static str,
    ) {
        if let Some(Some(given)) = self.value(Rank::Value, name, &unit) {
            *value = Some(given);
        }
    }

    fn refuse(&mut self, name: &str, problem: String, hint: String) {
        let given = self.positions.iter().find(|(key, _)| *key == name).map(|(_, position)| position);
        let position = given.unwrap_or(&self.position).clone();
        let key = format!("{}{name}", self.path);
        let key = key.trim_end_matches('.');
        let problem = if key.is_empty() { problem } else { format!("{key}: {problem}") };
        self.errors.push((Rank::Rule, FormError::new(position, problem, hint)));
    }
}

impl Form for Reader {
    fn required<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut U::Value,
        meaning: &'static str,
    ) {
        match self.value(Rank::Value, name, &unit) {
            Some(Some(given)) => *value = given,
            Some(None) => {}
            None => {
                let problem = format!("{}{name}: missing ({})", self.path, short(meaning));
                let hint = format!("give {}", unit.wants());
                self.errors.push((Rank::Missing, FormError::new(self.position.clone(), problem, hint)));
            }
        }
    }

    fn kind(&mut self, name: &'static str, choice: Choice, value: &mut &'static str, _: &'static str) {
        if let Some(Some(given)) = self.value(Rank::Kind, name, &choice) {
            *value = given;
        }
    }

    fn table(&mut self, name: &'static str, _: &'static str, visit: impl FnOnce(&mut Self)) {
        let (position, table) = match self.take(name) {
            None => (self.position.clone(), Table::default()),
            Some(Entry { node, position, .. }) => match node.value {
                Value::Table(table) => (position, table),
                other => {
                    let hint = format!("write its keys as {name} = {{ key = value, ... }} or below [{name}]");
                    return self.wrong_type(position, name, &other, hint);
                }
            },
        };
        self.within(position, table, name, visit);
    }

    fn base(&mut self, name: &'static str, meaning: &'static str, visit: impl FnOnce(&mut Self)) {
        self.table(name, meaning, visit);
    }

    fn optional_table<T>(
        &mut self,
        name: &'static str,
        item: &mut Option<T>,
        meaning: &'static str,
        new: impl Fn() -> T,
        visit: impl FnOnce(&mut Self, &mut T),
    ) {
        if self.table.get(name).is_none() {
            self.known.push(name);
            return;
        }
        self.table(name, meaning, |reader| visit(reader, item.get_or_insert_with(new)));
    }

    fn tables<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        _: &'static str,
        new: impl Fn() -> T,
        mut visit: impl FnMut(&mut Self, &mut T),
    ) {
        let Some(Entry { node, position, .. }) = self.take(name) else { return };
        let hint = || format!("begin each entry with [[{name}]]");
        match node.value {
            // One entry may stand below a plain header.
            Value::Table(table) => {
                let mut item = new();
                self.within(position, table, name, |reader| visit(reader, &mut item));
                items.push(item);
            }
            Value::Array(nodes) => {
                for (index, node) in nodes.into_iter().enumerate() {
                    let step = format!("{name}.{index}");
                    match node.value {
                        Value::Table(table) => {
                            let mut item = new();
                            self.within(node.position, table, &step, |reader| visit(reader, &mut item));
                            items.push(item);
                        }
                        other => self.wrong_type(node.position, &step, &other, hint()),
                    }
                }
            }
            other => self.wrong_type(position, name, &other, hint()),
        }
    }

    fn origin(&self, origin: &mut Origin) {
        *origin =
            Origin { path: self.path.clone(), table: self.position.clone(), keys: self.positions.clone() };
    }

    fn keys(&mut self) -> AnyKeys<'_> {
        AnyKeys::Reader(self)
    }
}

/// The first part of a meaning, as a reminder.
fn short(meaning: &str) -> String {
    let end = [". ", ", ", "; ", ": "].iter().filter_map(|stop| meaning.find(stop)).min();
    let part = meaning[..end.unwrap_or(meaning.len())].trim_end_matches('.');
    part.chars().take(1).flat_map(char::to_lowercase).chain(part.chars().skip(1)).collect()
}
