//! Scenario as text in pieces: tables of keys, so that pieces can be left out.

use std::fmt::Write as _;

/// One table with its keys, in the order of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Header as TOML has it, with its brackets; empty for the keys at the top.
    pub(crate) header: String,
    /// Keys and values as TOML.
    pub(crate) keys: Vec<(String, String)>,
}

impl Table {
    pub(crate) fn new(header: &str) -> Self {
        Self { header: header.to_owned(), keys: Vec::new() }
    }

    /// Sets a key, which is put last if it is new.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<String>) {
        let value = value.into();
        match self.keys.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.keys.push((key.to_owned(), value)),
        }
    }

    /// The value of a key, as TOML.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Scenario as a list of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) tables: Vec<Table>,
}

impl Draft {
    /// The first table with this header.
    pub(crate) fn table(&self, header: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.header == header)
    }

    /// The first table with this header, which is added if there is none.
    pub(crate) fn table_mut(&mut self, header: &str) -> &mut Table {
        let index = self.tables.iter().position(|table| table.header == header);
        let index = index.unwrap_or_else(|| {
            self.tables.push(Table::new(header));
            self.tables.len() - 1
        });
        &mut self.tables[index]
    }

    /// Text of the scenario. It contains tables without keys too: an entry of `[[traffic]]` may be all defaults.
    pub(crate) fn to_toml(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            if !table.header.is_empty() {
                let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, table.header);
            }
            for (key, value) in &table.keys {
                let _ = writeln!(text, "{key} = {value}");
            }
        }
        text
    }
}
