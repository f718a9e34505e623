//! Graphs whose nodes and edges have attributes by name, as files of graphs have them.

use std::borrow::Cow;

/// Value of an attribute of one element.
#[derive(Clone, Debug)]
pub(super) struct Attribute<'a> {
    /// Name of the attribute as the file has it.
    pub(super) name: Cow<'a, str>,
    /// The same in lower case.
    pub(super) key: String,
    /// Text without blanks around it, not empty.
    pub(super) text: Cow<'a, str>,
    /// Position of the value: what the reader of the file makes a line of.
    pub(super) at: usize,
}

/// Values of all attributes of one element, in the order of the file.
#[derive(Clone, Debug, Default)]
pub struct Attributes<'a>(Vec<Attribute<'a>>);

/// Node as the file has it.
#[derive(Clone, Debug)]
pub struct AttributeNode<'a> {
    /// Text by which edges name it.
    pub id: Cow<'a, str>,
    /// Its attributes.
    pub attributes: Attributes<'a>,
    /// Position in the file.
    pub at: usize,
}

/// Edge as the file has it.
#[derive(Clone, Debug)]
pub struct AttributeEdge<'a> {
    /// Node at one end, by its id.
    pub source: Cow<'a, str>,
    /// Node at the other end, by its id.
    pub target: Cow<'a, str>,
    /// Whether it is one direction only.
    pub directed: bool,
    /// Its attributes.
    pub attributes: Attributes<'a>,
    /// Position in the file.
    pub at: usize,
}

/// Graph as a file has it, before its attributes are understood.
#[derive(Clone, Debug, Default)]
pub struct AttributeGraph<'a> {
    /// Attributes of the graph itself.
    pub attributes: Attributes<'a>,
    /// Nodes in the order of the file.
    pub nodes: Vec<AttributeNode<'a>>,
    /// Edges in the order of the file.
    pub edges: Vec<AttributeEdge<'a>>,
}

impl<'a> Attributes<'a> {
    /// Collects values by name, each with its position; values without text are none.
    pub fn of(values: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>, usize)>) -> Self {
        let filled = values.into_iter().filter(|(_, text, _)| !text.is_empty());
        Self(
            filled
                .map(|(name, text, at)| Attribute { key: name.to_ascii_lowercase(), name, text, at })
                .collect(),
        )
    }

    /// All values, in the order of the file.
    pub(super) fn all(&self) -> impl Iterator<Item = &Attribute<'a>> {
        self.0.iter()
    }

    /// Finds the value of the first of these names that has one.
    pub(super) fn first(&self, names: &[&str]) -> Option<&Attribute<'a>> {
        names.iter().find_map(|name| self.0.iter().find(|value| value.key == *name))
    }
}

impl Attribute<'_> {
    /// Completes a bare number with the unit that the graph declares for this attribute.
    pub(super) fn with_unit(&self, graph: &Attributes<'_>) -> Cow<'_, str> {
        match graph.first(&[&format!("{}_unit", self.key)]) {
            Some(unit) => self.with(&unit.text),
            None => Cow::Borrowed(&self.text),
        }
    }

    /// Completes a bare number with `unit`.
    pub(super) fn with(&self, unit: &str) -> Cow<'_, str> {
        if self.text.parse::<f64>().is_ok() {
            Cow::Owned(format!("{} {unit}", self.text))
        } else {
            Cow::Borrowed(&self.text)
        }
    }
}
