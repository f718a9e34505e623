//! Lists of numbers with ranges: `"0-511"`.

use crate::document::{Node, Value};
use crate::unit::{Count, Refusal, Unit};

/// Numbers, one by one or as ranges that hold both their ends, in the order in which they are written.
#[derive(Clone, Copy)]
pub struct Ranges;

/// Most numbers of a list.
const MOST: usize = 1 << 24;

const NUMBER: Count = Count { least: 0, most: u32::MAX };

impl Ranges {
    fn add(self, node: &Node, to: &mut Vec<u32>) -> Result<(), Refusal> {
        let (Value::Text(text) | Value::Bare(text)) = &node.value else {
            to.push(NUMBER.read(node).map_err(|_| self.refuse_type(node))?);
            return Ok(());
        };
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let parsed = (first.trim().parse::<u32>(), last.trim().parse::<u32>());
            let (Ok(first), Ok(last)) = parsed else {
                return Err(self.refuse(node, format!("`{item}` is no number and no range")));
            };
            if first > last || to.len() + (last - first) as usize >= MOST {
                return Err(self.refuse(node, format!("`{item}` runs backwards or is too long")));
            }
            to.extend(first..=last);
        }
        Ok(())
    }
}

impl Unit for Ranges {
    type Value = Vec<u32>;

    fn read(&self, node: &Node) -> Result<Vec<u32>, Refusal> {
        let mut numbers = Vec::new();
        match &node.value {
            Value::Array(items) => items.iter().try_for_each(|item| self.add(item, &mut numbers))?,
            _ => self.add(node, &mut numbers)?,
        }
        Ok(numbers)
    }

    fn write(&self, value: &Vec<u32>) -> String {
        let mut items: Vec<String> = Vec::new();
        let mut rest = &value[..];
        while let Some(&first) = rest.first() {
            let run = (first..).zip(rest).take_while(|(expected, number)| expected == *number).count();
            if run < 3 {
                items.push(first.to_string());
                rest = &rest[1..];
            } else {
                items.push(format!("\"{first}-{}\"", rest[run - 1]));
                rest = &rest[run..];
            }
        }
        format!("[{}]", items.join(", "))
    }

    fn wants(&self) -> String {
        "numbers and ranges, as in \"0-511\" or [0, 4, \"8-15\"]".to_owned()
    }
}
