//! A TOML document as a tree in which every value knows its position, with the overrides of the command line in it.

use crate::{FormError, Position};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and its position.
#[derive(Clone, Debug)]
pub struct Node {
    /// Location in the document.
    pub position: Position,
    /// Its value.
    pub value: Value,
}

/// A value as written.
#[derive(Clone, Debug)]
pub enum Value {
    /// Text in quotes.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a point.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or a time of day: no key wants one.
    Date(String),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
    /// From the command line, without quotes or brackets: it is what the key wants it to be.
    Bare(String),
}

/// Message of the TOML reader about a key that a table has already.
const TWICE: &str = "duplicate key";

impl Value {
    /// Describes it for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Text(text) | Self::Bare(text) => format!("`{text}`"),
            Self::Integer(number) => format!("`{number}`"),
            Self::Float(number) => format!("`{number:?}`"),
            Self::Boolean(flag) => format!("`{flag}`"),
            Self::Date(date) => format!("the date `{date}`"),
            Self::Array(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// The entries of a table, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Table(pub Vec<Entry>);

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Location in the document.
    pub position: Position,
    /// Value with its location.
    pub node: Node,
}

impl Table {
    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.key == key)
    }
}

/// Parses `text`, which came from `file`, and puts the overrides in.
///
/// # Errors
/// What is no TOML, by its line; an override of what cannot be overridden, by its text.
pub fn parse(text: &str, file: &str, overrides: &[(String, String)]) -> Result<Table, FormError> {
    let source: Arc<str> = file.into();
    let parsed = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let position = Position { source: source.clone(), line: Some(Lines::of(text).line(span.start)) };
        if error.message() == TWICE {
            let key = text.get(span).unwrap_or_default().trim();
            return FormError::new(position, format!("{key}: {TWICE}"), "keep one of the two, or rename one");
        }
        let problem = format!("not TOML: {}", error.message().replace('\n', ": "));
        FormError::new(position, problem, "see the syntax at https://toml.io")
    })?;
    let lines = Lines::of(text);
    let position = |offset: usize| Position { source: source.clone(), line: Some(lines.line(offset)) };
    let mut root = table(parsed.into_inner(), &position)?;
    for (key, value) in overrides {
        apply(&mut root, key, value)?;
    }
    Ok(root)
}

/// Offsets at which lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        Self(std::iter::once(0).chain(breaks.map(|(offset, _)| offset + 1)).collect())
    }

    fn line(&self, offset: usize) -> u32 {
        self.0.partition_point(|&start| start <= offset) as u32
    }
}

fn table(parsed: DeTable<'_>, position: &impl Fn(usize) -> Position) -> Result<Table, FormError> {
    let mut rows: Vec<_> = parsed.into_iter().collect();
    rows.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| -> Result<Entry, FormError> {
        let at = position(key.span().start);
        let key: std::borrow::Cow<'_, str> = key.into_inner();
        let mut node = node(value, position)?;
        // A key with a dot, and a table's header, hold spans of their own; what a reader looks for is the key.
        node.position = at.clone();
        Ok(Entry { key: key.into_owned(), position: at, node })
    };
    Ok(Table(rows.into_iter().map(entry).collect::<Result<_, _>>()?))
}

fn node(parsed: Spanned<DeValue<'_>>, position: &impl Fn(usize) -> Position) -> Result<Node, FormError> {
    let at = position(parsed.span().start);
    let value = match parsed.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(integer) => Value::Integer(integer),
            Err(_) => {
                let problem = format!("the number {} is too large", number.as_str());
                return Err(FormError::new(at, problem, "give one below 2^63"));
            }
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(float) => Value::Float(float),
            Err(_) => {
                let problem = format!("`{}` is no number", number.as_str());
                return Err(FormError::new(at, problem, "give one such as 0.5"));
            }
        },
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => {
            Value::Array(items.into_iter().map(|item| node(item, position)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(entries) => Value::Table(table(entries, position)?),
    };
    Ok(Node { position: at, value })
}

/// Puts one override into the document.
///
/// # Errors
/// An override of what cannot be overridden, by its text.
pub fn apply(root: &mut Table, key: &str, text: &str) -> Result<(), FormError> {
    let position = Position { source: format!("-o {key}={text}").into(), line: None };
    let value = match text.trim_start().chars().next() {
        Some('"' | '\'' | '[' | '{') => {
            let parsed = DeValue::parse(text.trim()).map_err(|error| {
                let problem =
                    format!("{key}: the value is not TOML: {}", error.message().replace('\n', ": "));
                FormError::new(position.clone(), problem, "see the syntax at https://toml.io")
            })?;
            node(parsed, &|_| position.clone())?.value
        }
        _ => Value::Bare(text.trim().to_owned()),
    };
    let steps: Vec<&str> = key.split('.').collect();
    if steps.iter().any(|step| step.is_empty()) {
        let problem = format!("`{key}` is no key");
        return Err(FormError::new(position, problem, "join names by dots, as in fabric.link.rate"));
    }
    set(root, &steps, 0, Node { position: position.clone(), value }, &position)
}

/// Puts `leaf` at `steps[depth..]` below `table`, making the tables and lists on the way.
fn set(
    table: &mut Table,
    steps: &[&str],
    depth: usize,
    leaf: Node,
    position: &Position,
) -> Result<(), FormError> {
    let key = steps[depth];
    let index = table.0.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        let numbered = steps.get(depth + 1).is_some_and(|step| step.parse::<usize>().is_ok());
        let value = if numbered { Value::Array(Vec::new()) } else { Value::Table(Table::default()) };
        let node = Node { position: position.clone(), value };
        table.0.push(Entry { key: key.to_owned(), position: position.clone(), node });
        table.0.len() - 1
    });
    let entry = &mut table.0[index];
    descend(&mut entry.node, steps, depth + 1, leaf, position)?;
    if depth + 1 == steps.len() {
        entry.position = position.clone();
    }
    Ok(())
}

fn descend(
    node: &mut Node,
    steps: &[&str],
    depth: usize,
    leaf: Node,
    position: &Position,
) -> Result<(), FormError> {
    let Some(step) = steps.get(depth) else {
        *node = leaf;
        return Ok(());
    };
    let here = steps[..depth].join(".");
    match &mut node.value {
        Value::Table(table) => set(table, steps, depth, leaf, position),
        Value::Array(items) if !items.is_empty() && step.parse::<usize>().is_err() => {
            // A name where a number could be: all entries are meant.
            items.iter_mut().try_for_each(|item| descend(item, steps, depth, leaf.clone(), position))
        }
        Value::Array(items) => {
            let count = items.len();
            let index = step.parse::<usize>().ok().filter(|&index| index <= count).ok_or_else(|| {
                FormError::new(
                    position.clone(),
                    format!("{here}: it is a list of {count}, `{step}` is none of its numbers"),
                    format!("number its entries from 0; {count} adds one"),
                )
            })?;
            if index == count {
                items.push(Node { position: position.clone(), value: Value::Table(Table::default()) });
            }
            descend(&mut items[index], steps, depth + 1, leaf, position)
        }
        other => Err(FormError::new(
            position.clone(),
            format!("{here}: it is {}, which has no key `{step}`", other.describe()),
            format!("override {here} itself"),
        )),
    }
}
