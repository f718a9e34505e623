//! Plain numbers: counts, shares, factors.

use crate::document::{Node, Value};
use crate::unit::{Refusal, Unit};

/// A whole number from `least` to `most`.
#[derive(Clone, Copy)]
pub struct Whole {
    /// Least value.
    pub least: u64,
    /// Largest value.
    pub most: u64,
}

/// The same for what the program counts in 32 bits.
#[derive(Clone, Copy)]
pub struct Count {
    /// Least value.
    pub least: u32,
    /// Largest value.
    pub most: u32,
}

/// A number from 0 to 1.
#[derive(Clone, Copy)]
pub struct Fraction;

/// A finite number above 0, at most `most`.
#[derive(Clone, Copy)]
pub struct Positive {
    /// Largest value.
    pub most: f64,
}

impl Whole {
    /// Any that TOML can write.
    pub const ANY: Self = Self { least: 0, most: i64::MAX as u64 };
}

fn float(node: &Node) -> Option<f64> {
    match &node.value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Bare(text) => text.parse().ok(),
        _ => None,
    }
}

impl Unit for Whole {
    type Value = u64;

    fn read(&self, node: &Node) -> Result<u64, Refusal> {
        let number = match &node.value {
            Value::Integer(number) => Some(*number),
            Value::Bare(text) => text.replace('_', "").parse().ok(),
            _ => None,
        };
        let Some(number) = number else { return Err(self.refuse_type(node)) };
        u64::try_from(number)
            .ok()
            .filter(|number| (self.least..=self.most).contains(number))
            .ok_or_else(|| self.refuse(node, format!("{} is out of range", node.value.describe())))
    }

    fn write(&self, value: &u64) -> String {
        value.to_string()
    }

    fn wants(&self) -> String {
        match (self.least, self.most) {
            (least, most) if most == Self::ANY.most => format!("a whole number, at least {least}"),
            (least, most) => format!("a whole number from {least} to {most}"),
        }
    }
}

impl Unit for Count {
    type Value = u32;

    fn read(&self, node: &Node) -> Result<u32, Refusal> {
        self.whole().read(node).map(|number| number as u32)
    }

    fn write(&self, value: &u32) -> String {
        value.to_string()
    }

    fn wants(&self) -> String {
        self.whole().wants()
    }
}

impl Count {
    fn whole(self) -> Whole {
        Whole { least: self.least.into(), most: self.most.into() }
    }
}

impl Unit for Fraction {
    type Value = f64;

    fn read(&self, node: &Node) -> Result<f64, Refusal> {
        let number = float(node).ok_or_else(|| self.refuse_type(node))?;
        if (0.0..=1.0).contains(&number) {
            // Minus zero is zero, and writes as it.
            Ok(number + 0.0)
        } else {
            Err(self.refuse(node, format!("{} is out of range", node.value.describe())))
        }
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }

    fn wants(&self) -> String {
        "a number from 0 to 1".to_owned()
    }
}

impl Unit for Positive {
    type Value = f64;

    fn read(&self, node: &Node) -> Result<f64, Refusal> {
        let number = float(node).ok_or_else(|| self.refuse_type(node))?;
        if number > 0.0 && number <= self.most {
            Ok(number)
        } else {
            Err(self.refuse(node, format!("{} is out of range", node.value.describe())))
        }
    }

    fn write(&self, value: &f64) -> String {
        format!("{value:?}")
    }

    fn wants(&self) -> String {
        format!("a number above 0, at most {}", self.most)
    }
}
