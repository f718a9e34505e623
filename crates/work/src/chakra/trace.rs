//! Chakra messages as values.

use super::wire::{Value, Wire};
use crate::WorkError;
use std::borrow::Cow;

/// Number of `METADATA_NODE` in the schema.
const METADATA: u64 = 1;

/// Trace of one rank. Its texts are those of the file: a job of a thousand ranks has tens of millions of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace<'a> {
    /// Name in errors.
    pub file: &'a str,
    /// First message.
    pub metadata: Metadata<'a>,
    /// Nodes, in the order of the file.
    pub nodes: Vec<TraceNode<'a>>,
}

/// First message of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata<'a> {
    /// Version of the schema.
    pub version: &'a str,
    /// Attributes.
    pub attributes: Vec<Attribute<'a>>,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Computes (`COMP_NODE`).
    Compute,
    /// Sends (`COMM_SEND_NODE`).
    Send,
    /// Receives (`COMM_RECV_NODE`).
    Recv,
    /// Takes part in a collective (`COMM_COLL_NODE`).
    Collective,
    /// Loads or stores (`MEM_LOAD_NODE`, `MEM_STORE_NODE`).
    Memory,
    /// Anything else, such as metadata.
    #[default]
    Other,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceNode<'a> {
    /// Identity in its trace.
    pub id: u64,
    /// Name.
    pub name: &'a str,
    /// Kind.
    pub kind: Kind,
    /// Number of the kind in the schema.
    pub kind_number: u64,
    /// Nodes that it waits for by control.
    pub ctrl_deps: Vec<u64>,
    /// Nodes that it waits for by data.
    pub data_deps: Vec<u64>,
    /// Duration in microseconds.
    pub duration_us: u64,
    /// Attributes.
    pub attributes: Vec<Attribute<'a>>,
    /// Values of its inputs, as text; kept of metadata (`METADATA_NODE`) alone.
    pub input_values: &'a str,
    /// Offset in the file.
    pub offset: usize,
}

/// Named setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute<'a> {
    /// Name.
    pub name: &'a str,
    /// Value.
    pub value: Setting<'a>,
}

/// Value of an attribute: those that this reader looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting<'a> {
    /// Integer, with its field in the schema (7 `int32_val`, 9 `int64_val`, 11 `uint32_val`, 13 `uint64_val`, 15
    /// `sint32_val`, 17 `sint64_val`).
    Whole(u64, i64),
    /// Truth.
    Bool(bool),
    /// Truths (28 `bool_list`).
    Bools(Vec<bool>),
    /// Text.
    Text(&'a str),
    /// Value of another field of the schema.
    Other(u64),
}

impl<'a> Trace<'a> {
    /// Reads the trace of one rank. `file` names it in errors.
    ///
    /// # Errors
    /// The first byte at fault.
    pub fn read(bytes: &'a [u8], file: &'a str) -> Result<Self, WorkError> {
        let mut wire = Wire::new(file, bytes, 0);
        if wire.is_at_end() {
            return Err(wire.error(0, "an empty file"));
        }
        let (message, at) = wire.counted()?;
        let metadata = metadata(Wire::new(file, message, at))?;
        let mut nodes = Vec::new();
        while !wire.is_at_end() {
            let (message, at) = wire.counted()?;
            nodes.push(node(Wire::new(file, message, at), at)?);
        }
        Ok(Self { file, metadata, nodes })
    }

    pub(super) fn position(&self, node: &TraceNode<'_>) -> String {
        format!("{}: byte {} (node {}, `{}`)", self.file, node.offset, node.id, node.name)
    }

    pub(super) fn error(&self, node: &TraceNode<'_>, problem: &str) -> WorkError {
        WorkError::new(self.position(node), problem, "correct the trace, or what wrote it")
    }

    /// A whole number, not negative.
    pub(super) fn number(&self, node: &TraceNode<'_>, name: &str) -> Result<u64, WorkError> {
        let found = node.attributes.iter().find(|attribute| attribute.name == name);
        match found.map(|attribute| &attribute.value) {
            Some(&Setting::Whole(_, number)) => {
                u64::try_from(number).map_err(|_| self.error(node, &format!("`{name}` is {number}")))
            }
            Some(_) => Err(self.error(node, &format!("`{name}` is no integer"))),
            None => Err(self.error(node, &format!("`{name}` is missing"))),
        }
    }

    pub(super) fn optional_number(&self, node: &TraceNode<'_>, name: &str) -> Result<Option<u64>, WorkError> {
        let there = node.attributes.iter().any(|attribute| attribute.name == name);
        there.then(|| self.number(node, name)).transpose()
    }

    /// A whole number of either sign, if it is there.
    pub(super) fn integer(&self, node: &TraceNode<'_>, name: &str) -> Result<Option<i64>, WorkError> {
        match node.attributes.iter().find(|own| own.name == name).map(|own| &own.value) {
            None => Ok(None),
            Some(&Setting::Whole(_, number)) => Ok(Some(number)),
            Some(_) => Err(self.error(node, &format!("`{name}` is no integer"))),
        }
    }

    /// Communicator group of a collective by the name that the trace gives it, as text or as a number: `pg_name`, or the
    /// `comm_group` of older traces. None if it names none.
    pub(super) fn group(&self, node: &TraceNode<'a>) -> Result<Option<Cow<'a, str>>, WorkError> {
        let Some((name, value)) = ["pg_name", "comm_group"].into_iter().find_map(|name| {
            node.attributes.iter().find(|own| own.name == name).map(|own| (name, &own.value))
        }) else {
            return Ok(None);
        };
        match value {
            &Setting::Text(text) => Ok(Some(text).filter(|text| !text.is_empty()).map(Cow::Borrowed)),
            Setting::Whole(_, number) => Ok(Some(Cow::Owned(number.to_string()))),
            _ => Err(self.error(node, &format!("`{name}` is neither a text nor an integer"))),
        }
    }

    /// Dimensions of the ranks that take part in a collective; none if it does not say.
    pub(super) fn involved<'b>(&self, node: &'b TraceNode<'_>) -> Result<Option<&'b [bool]>, WorkError> {
        match node.attributes.iter().find(|own| own.name == "involved_dim").map(|own| &own.value) {
            None => Ok(None),
            Some(Setting::Bools(dimensions)) => Ok(Some(dimensions)),
            Some(_) => Err(self.error(node, "`involved_dim` is no list of truths")),
        }
    }

    /// Whether a node runs on the host's processor (`is_cpu_op`, a truth or an integer); not if it does not say.
    pub(super) fn is_on_cpu(&self, node: &TraceNode<'_>) -> Result<bool, WorkError> {
        match node.attributes.iter().find(|own| own.name == "is_cpu_op").map(|own| &own.value) {
            None => Ok(false),
            Some(&Setting::Bool(truth)) => Ok(truth),
            Some(&Setting::Whole(_, number)) => Ok(number != 0),
            Some(_) => Err(self.error(node, "`is_cpu_op` is neither a truth nor an integer")),
        }
    }
}

fn text<'a>(wire: &Wire<'_>, bytes: &'a [u8], at: usize) -> Result<&'a str, WorkError> {
    std::str::from_utf8(bytes).map_err(|_| wire.error(at, "a text that is not UTF-8"))
}

fn metadata(mut wire: Wire<'_>) -> Result<Metadata<'_>, WorkError> {
    let mut made = Metadata::default();
    while let Some((field, value, at)) = wire.field()? {
        match (field, value) {
            (1, Value::Bytes(bytes, at)) => made.version = text(&wire, bytes, at)?,
            (2, Value::Bytes(bytes, at)) => made.attributes.push(attribute(Wire::new(wire.file, bytes, at))?),
            (1 | 2, _) => return Err(wire.error(at, "a field of another shape than the schema's")),
            _ => {}
        }
    }
    Ok(made)
}

fn node(mut wire: Wire<'_>, offset: usize) -> Result<TraceNode<'_>, WorkError> {
    let mut made = TraceNode { offset, ..TraceNode::default() };
    let mut inputs = None;
    while let Some((field, value, at)) = wire.field()? {
        match (field, value) {
            (1, Value::Varint(id)) => made.id = id,
            (2, Value::Bytes(bytes, at)) => made.name = text(&wire, bytes, at)?,
            (3, Value::Varint(kind)) => {
                made.kind_number = kind;
                made.kind = match kind {
                    2 | 3 => Kind::Memory,
                    4 => Kind::Compute,
                    5 => Kind::Send,
                    6 => Kind::Recv,
                    7 => Kind::Collective,
                    _ => Kind::Other,
                };
            }
            (4, value) => numbers(&wire, value, at, &mut made.ctrl_deps)?,
            (5, value) => numbers(&wire, value, at, &mut made.data_deps)?,
            (7, Value::Varint(us)) => made.duration_us = us,
            (8, Value::Bytes(bytes, at)) => inputs = Some((bytes, at)),
            (10, Value::Bytes(bytes, at)) => {
                made.attributes.push(attribute(Wire::new(wire.file, bytes, at))?);
            }
            (1..=3 | 7 | 8 | 10, _) => {
                return Err(wire.error(at, "a field of another shape than the schema's"));
            }
            _ => {}
        }
    }
    // The kind may follow the inputs: the order of fields is free.
    if let Some((bytes, at)) = inputs.filter(|_| made.kind_number == METADATA) {
        let mut inputs = Wire::new(wire.file, bytes, at);
        while let Some((field, value, _)) = inputs.field()? {
            if let (1, Value::Bytes(bytes, at)) = (field, value) {
                made.input_values = text(&inputs, bytes, at)?;
            }
        }
    }
    Ok(made)
}

/// Repeated integers, one by one or packed.
fn numbers(wire: &Wire<'_>, value: Value<'_>, at: usize, to: &mut Vec<u64>) -> Result<(), WorkError> {
    match value {
        Value::Varint(number) => to.push(number),
        Value::Bytes(bytes, at) => {
            let mut packed = Wire::new(wire.file, bytes, at);
            while !packed.is_at_end() {
                to.push(packed.varint()?);
            }
        }
        _ => return Err(wire.error(at, "a field of another shape than the schema's")),
    }
    Ok(())
}

/// List of truths.
fn bools(mut wire: Wire<'_>) -> Result<Setting<'static>, WorkError> {
    let mut numbers_read = Vec::new();
    while let Some((field, value, at)) = wire.field()? {
        if field == 1 {
            numbers(&wire, value, at, &mut numbers_read)?;
        }
    }
    Ok(Setting::Bools(numbers_read.into_iter().map(|number| number != 0).collect()))
}

fn attribute(mut wire: Wire<'_>) -> Result<Attribute<'_>, WorkError> {
    let mut made = Attribute { name: "", value: Setting::Other(0) };
    while let Some((field, value, _)) = wire.field()? {
        match (field, value) {
            (1, Value::Bytes(bytes, at)) => made.name = text(&wire, bytes, at)?,
            (7, Value::Varint(number)) => made.value = Setting::Whole(7, i64::from(number as i32)),
            (9, Value::Varint(number)) => made.value = Setting::Whole(9, number as i64),
            (11 | 13, Value::Varint(number)) => {
                made.value =
                    i64::try_from(number).map_or(Setting::Other(field), |whole| Setting::Whole(field, whole));
            }
            (15 | 17, Value::Varint(number)) => {
                made.value = Setting::Whole(field, (number >> 1) as i64 ^ -((number & 1) as i64));
            }
            (28, Value::Bytes(bytes, at)) => made.value = bools(Wire::new(wire.file, bytes, at))?,
            (27, Value::Varint(number)) => made.value = Setting::Bool(number != 0),
            (29, Value::Bytes(bytes, at)) => made.value = Setting::Text(text(&wire, bytes, at)?),
            (2, _) => {}
            (field, _) => made.value = Setting::Other(field),
        }
    }
    Ok(made)
}
