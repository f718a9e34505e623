//! Loads: parts of a capacity.

use crate::document::{Node, Value};
use crate::unit::{Refusal, Unit};

/// A part of a capacity, as a number or in percent; more than the capacity overloads it on purpose.
#[derive(Clone, Copy)]
pub struct Load {
    /// Largest load.
    pub most: f64,
    /// Key that gives rates without bound.
    pub unbounded: &'static str,
}

impl Unit for Load {
    type Value = f64;

    fn read(&self, node: &Node) -> Result<f64, Refusal> {
        let percent = |text: &str| {
            text.strip_suffix('%')?.trim_end().parse::<f64>().ok().map(|hundredths| hundredths / 100.0)
        };
        let number = match &node.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Text(text) => percent(text),
            Value::Bare(text) => percent(text).or_else(|| text.parse().ok()),
            _ => None,
        };
        let number = number.ok_or_else(|| self.refuse_type(node))?;
        if number > 0.0 && number <= self.most {
            return Ok(number);
        }
        let mut refusal = self.refuse(node, format!("{} is out of range", node.value.describe()));
        if number.is_finite() && number > self.most {
            refusal.hint = format!(
                "{number} is {number} times the capacity; give \"{number} %\" if percent are meant, and `{}` for more than {} times",
                self.unbounded, self.most
            );
        }
        Err(refusal)
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }

    fn wants(&self) -> String {
        format!("a part of the capacity above 0, at most {}, such as 0.6 or \"60 %\"", self.most)
    }
}
