//! Lists; a single value is a list of one.

use crate::document::{Node, Value};
use crate::unit::{Refusal, Unit};

/// Any number of values; one may stand without brackets.
#[derive(Clone, Copy)]
pub struct OneOrMore<U>(pub U);

impl<U: Unit> Unit for OneOrMore<U> {
    type Value = Vec<U::Value>;

    fn read(&self, node: &Node) -> Result<Self::Value, Refusal> {
        match &node.value {
            Value::Array(items) => items.iter().map(|item| self.0.read(item)).collect(),
            _ => Ok(vec![self.0.read(node)?]),
        }
    }

    fn write(&self, value: &Self::Value) -> String {
        let items: Vec<String> = value.iter().map(|item| self.0.write(item)).collect();
        format!("[{}]", items.join(", "))
    }

    fn wants(&self) -> String {
        format!("{}, or a list of such", self.0.wants())
    }
}
