//! Limits of a queue: in bytes or in packets.

use crate::document::{Node, Table, Value};
use crate::nearest::Unknown;
use crate::unit::quantity::{Bytes, Fault, Quantity, refuse, scaled, text_of};
use crate::unit::{Fraction, Refusal, Unit, quoted};
use anabranch_fabric::{Buffer, Marking};

/// Most bytes or packets of a limit: one below the number that means none.
const MOST: u64 = u32::MAX as u64 - 1;

/// Room for waiting frames.
#[derive(Clone, Copy)]
pub struct Room;

/// When frames are marked.
#[derive(Clone, Copy)]
pub struct Ecn;

/// A limit in one of the two measures.
enum Limit {
    Bytes(u32),
    Packets(u32),
}

fn limit<U: Unit>(unit: &U, node: &Node) -> Result<Limit, Refusal> {
    let text = text_of(unit, node)?;
    let packets = Quantity::parse(&text).filter(|quantity| matches!(quantity.unit, "packets" | "packet"));
    let Some(quantity) = packets else {
        return bytes_of(unit, node, &text).map(Limit::Bytes);
    };
    match quantity.times(1).filter(|packets| (1..=MOST).contains(packets)) {
        Some(packets) => Ok(Limit::Packets(packets as u32)),
        None => {
            let mut refusal = unit.refuse(node, format!("`{text}` is out of range"));
            refusal.hint = format!("give a whole number from 1 to {MOST}");
            Err(refusal)
        }
    }
}

/// Bytes of a limit. A text that is close to no unit is no size: the hint says what a limit is.
fn bytes_of<U: Unit>(unit: &U, node: &Node, text: &str) -> Result<u32, Refusal> {
    let bytes = scaled(text, &Bytes::SCALES).map_err(|fault| {
        let is_far = matches!(&fault, Fault::UnknownUnit(Unknown::Far(_)));
        let refusal = refuse(unit, node, text, "bytes", fault);
        if is_far { Refusal { hint: format!("give {}", unit.wants()), ..refusal } } else { refusal }
    })?;
    Ok(Bytes { least: 1, most: MOST }.bounded(node, bytes)? as u32)
}

/// Whether the node is this word.
fn says(node: &Node, word: &str) -> bool {
    matches!(&node.value, Value::Text(text) | Value::Bare(text) if text == word)
}

fn bytes(value: u32) -> String {
    Bytes::SOME.write(&value.into())
}

impl Unit for Room {
    type Value = Buffer;

    fn read(&self, node: &Node) -> Result<Buffer, Refusal> {
        if says(node, "unlimited") {
            return Ok(Buffer::UNLIMITED);
        }
        Ok(match limit(self, node)? {
            Limit::Bytes(bytes) => Buffer { bytes, ..Buffer::UNLIMITED },
            Limit::Packets(packets) => Buffer { packets, ..Buffer::UNLIMITED },
        })
    }

    fn write(&self, value: &Buffer) -> String {
        match *value {
            Buffer::UNLIMITED => quoted("unlimited"),
            Buffer { bytes: u32::MAX, packets } => quoted(&format!("{packets} packets")),
            Buffer { bytes: limit, .. } => bytes(limit),
        }
    }

    fn wants(&self) -> String {
        "room such as \"300 KB\" or \"200 packets\", or \"unlimited\"".to_owned()
    }
}

impl Ecn {
    /// `{ low = ..., high = ..., probability = ... }`.
    fn ramp(self, node: &Node, table: &Table) -> Result<Marking, Refusal> {
        const KEYS: [&str; 3] = ["low", "high", "probability"];
        table.refuse_others(&KEYS)?;
        let get = |key: &str| {
            table
                .get(key)
                .map(|entry| &entry.node)
                .ok_or_else(|| self.refuse(node, format!("`{key}` is missing")))
        };
        let size = Bytes { least: 0, most: MOST };
        let low_bytes = size.read(get("low")?)? as u32;
        let high_bytes = size.read(get("high")?)? as u32;
        let probability = Fraction.read(get("probability")?)?;
        if low_bytes >= high_bytes {
            let problem = format!("low is {}, high is {}: no ramp", bytes(low_bytes), bytes(high_bytes));
            let mut refusal = self.refuse(node, problem);
            refusal.hint = "give a high above the low".to_owned();
            return Err(refusal);
        }
        Ok(Marking::Ramp { low_bytes, high_bytes, probability })
    }
}

impl Unit for Ecn {
    type Value = Marking;

    fn read(&self, node: &Node) -> Result<Marking, Refusal> {
        if says(node, "off") {
            return Ok(Marking::Off);
        }
        if let Value::Table(table) = &node.value {
            return self.ramp(node, table);
        }
        Ok(match limit(self, node)? {
            Limit::Bytes(bytes) => Marking::Step { bytes, packets: u32::MAX },
            Limit::Packets(packets) => Marking::Step { bytes: u32::MAX, packets },
        })
    }

    fn write(&self, value: &Marking) -> String {
        match *value {
            Marking::Off => quoted("off"),
            Marking::Step { bytes: u32::MAX, packets } => quoted(&format!("{packets} packets")),
            Marking::Step { bytes: limit, .. } => bytes(limit),
            Marking::Ramp { low_bytes, high_bytes, probability } => format!(
                "{{ low = {}, high = {}, probability = {} }}",
                bytes(low_bytes),
                bytes(high_bytes),
                Fraction.write(&probability)
            ),
        }
    }

    fn wants(&self) -> String {
        "a threshold such as \"65 packets\" or \"97 KB\", \"off\", or RED's { low = \"30 KB\", high = \"90 KB\", \
         probability = 0.1 }"
            .to_owned()
    }
}
