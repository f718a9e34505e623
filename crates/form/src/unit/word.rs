//! Words: one of several, yes or no, any text.

use crate::document::{Node, Value};
use crate::nearest;
use crate::unit::{Refusal, Unit, quoted};

/// One of these names.
#[derive(Clone, Copy)]
pub struct Choice(pub &'static [&'static str]);

/// `true` or `false`.
#[derive(Clone, Copy)]
pub struct Flag;

/// Text that is not empty.
#[derive(Clone, Copy)]
pub struct Text {
    /// Description of a valid word, after "give".
    pub wants: &'static str,
}

impl Unit for Choice {
    type Value = &'static str;

    fn read(&self, node: &Node) -> Result<&'static str, Refusal> {
        let (Value::Text(word) | Value::Bare(word)) = &node.value else { return Err(self.refuse_type(node)) };
        self.0.iter().find(|name| *name == word).copied().ok_or_else(|| {
            let mut refusal = self.refuse(node, format!("`{word}` is unknown"));
            refusal.hint = nearest::hint(word, self.0.iter().copied());
            refusal
        })
    }

    fn write(&self, value: &&'static str) -> String {
        quoted(value)
    }

    fn wants(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|name| quoted(name)).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }
}

impl Unit for Flag {
    type Value = bool;

    fn read(&self, node: &Node) -> Result<bool, Refusal> {
        match &node.value {
            Value::Boolean(flag) => Ok(*flag),
            Value::Bare(text) => text.parse().map_err(|_| self.refuse_type(node)),
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &bool) -> String {
        value.to_string()
    }

    fn wants(&self) -> String {
        "true or false".to_owned()
    }
}

impl Unit for Text {
    type Value = String;

    fn read(&self, node: &Node) -> Result<String, Refusal> {
        match &node.value {
            Value::Text(text) | Value::Bare(text) if text.chars().any(char::is_control) => {
                let problem = format!("`{}` has a control character", text.escape_debug());
                Err(self.refuse(node, problem))
            }
            Value::Text(text) | Value::Bare(text) if !text.is_empty() => Ok(text.clone()),
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &String) -> String {
        quoted(value)
    }

    fn wants(&self) -> String {
        self.wants.to_owned()
    }
}
