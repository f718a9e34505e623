//! Writing: every key with its value, defaults included, always in the same order and form.

use crate::form::{AnyKeys, Form, Keys};
use crate::origin::Origin;
use crate::unit::{Choice, Unit, quoted};

/// Writes a document. Tables at the top get headers of their own, those within them stand in braces.
#[derive(Default)]
pub struct Writer {
    text: String,
    /// Keys that lead here, each with its dot.
    path: String,
    /// How many tables lead here, a table among others of its name counted once.
    depth: usize,
}

impl Writer {
    /// The document.
    pub fn finish(self) -> String {
        self.text
    }

    fn pair(&mut self, name: &str, value: &str) {
        let name = key(name);
        match self.depth {
            0 | 1 => self.text.push_str(&format!("{name} = {value}\n")),
            _ if self.text.is_empty() => self.text = format!("{name} = {value}"),
            _ => self.text.push_str(&format!(", {name} = {value}")),
        }
    }

    /// Text that `visit` writes at a depth.
    fn within(&self, name: &str, depth: usize, visit: impl FnOnce(&mut Self)) -> String {
        let mut writer = Self { text: String::new(), path: format!("{}{name}.", self.path), depth };
        visit(&mut writer);
        writer.text
    }
}

/// A key, quoted where it must be.
pub fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

impl Keys for Writer {
    fn key<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, _: &'static str) {
        self.pair(name, &unit.write(value));
    }

    fn optional<U: Unit>(
        &mut self,
        name: &'static str,
        unit: U,
        value: &mut Option<U::Value>,
        _: &'static str,
    ) {
        if let Some(value) = value {
            self.pair(name, &unit.write(value));
        }
    }

    fn refuse(&mut self, _: &str, _: String, _: String) {}
}

impl Form for Writer {
    fn required<U: Unit>(&mut self, name: &'static str, unit: U, value: &mut U::Value, _: &'static str) {
        self.pair(name, &unit.write(value));
    }

    fn kind(&mut self, name: &'static str, choice: Choice, value: &mut &'static str, _: &'static str) {
        self.pair(name, &choice.write(value));
    }

    fn table(&mut self, name: &'static str, _: &'static str, visit: impl FnOnce(&mut Self)) {
        let inner = self.within(name, self.depth + 1, visit);
        match self.depth {
            _ if inner.is_empty() => {}
            0 => self.text.push_str(&format!("\n[{name}]\n{inner}")),
            _ => self.pair(name, &format!("{{ {inner} }}")),
        }
    }

    fn base(&mut self, _: &'static str, _: &'static str, _: impl FnOnce(&mut Self)) {}

    fn optional_table<T>(
        &mut self,
        name: &'static str,
        item: &mut Option<T>,
        meaning: &'static str,
        _: impl Fn() -> T,
        visit: impl FnOnce(&mut Self, &mut T),
    ) {
        if let Some(item) = item {
            self.table(name, meaning, |writer| visit(writer, item));
        }
    }

    fn tables<T>(
        &mut self,
        name: &'static str,
        items: &mut Vec<T>,
        _: &'static str,
        _: impl Fn() -> T,
        mut visit: impl FnMut(&mut Self, &mut T),
    ) {
        for item in items {
            // Their headers stand behind the other keys of the table around them.
            let inner = self.within(name, 1, |writer| visit(writer, item));
            self.text.push_str(&format!("\n[[{}{name}]]\n{inner}", self.path));
        }
    }

    fn origin(&self, _: &mut Origin) {}

    fn keys(&mut self) -> AnyKeys<'_> {
        AnyKeys::Writer(self)
    }
}
