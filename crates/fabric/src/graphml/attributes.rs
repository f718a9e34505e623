//! Attributes of elements: `<key>` declares them, `<data>` gives their values.

use super::children;
use roxmltree::Node;
use std::borrow::Cow;

/// Declared attributes, in the order of the file.
pub(super) struct Keys<'a>(Vec<Key<'a>>);

struct Key<'a> {
    id: &'a str,
    /// Kind of element that has it: `node`, `edge`, `graph` or `all`.
    domain: &'a str,
    name: &'a str,
    default: Option<Node<'a, 'a>>,
}

/// Value of an attribute of one element.
pub(super) struct Value<'a> {
    /// Name of the attribute as the file has it.
    pub(super) name: &'a str,
    /// The same in lower case.
    pub(super) key: String,
    /// Text without blanks around it, not empty.
    pub(super) text: &'a str,
    /// Element of the document that holds it.
    pub(super) element: Node<'a, 'a>,
}

/// Values of all attributes of one element.
pub(super) struct Attributes<'a>(Vec<Value<'a>>);

impl<'a> Keys<'a> {
    pub(super) fn of(root: Node<'a, 'a>) -> Self {
        let keys = children(root, "key").filter_map(|key| {
            let id = key.attribute("id")?;
            Some(Key {
                id,
                domain: key.attribute("for").unwrap_or("all"),
                name: key.attribute("attr.name").unwrap_or(id),
                default: children(key, "default").next(),
            })
        });
        Self(keys.collect())
    }

    /// Collects the values of an element of this domain; attributes it does not give have their declared defaults.
    pub(super) fn attributes(&self, domain: &str, element: Node<'a, 'a>) -> Attributes<'a> {
        let keys = self.0.iter().filter(|key| key.domain == domain || key.domain == "all");
        let values = keys.filter_map(|key| {
            let given = children(element, "data").find(|data| data.attribute("key") == Some(key.id));
            let element = given.or(key.default)?;
            let text = element.text().map(str::trim).filter(|text| !text.is_empty())?;
            Some(Value { name: key.name, key: key.name.to_ascii_lowercase(), text, element })
        });
        Attributes(values.collect())
    }
}

impl<'a> Attributes<'a> {
    /// All values, in the order in which the file declares their attributes.
    pub(super) fn all(&self) -> impl Iterator<Item = &Value<'a>> {
        self.0.iter()
    }

    /// Finds the value of the first of these names that has one.
    pub(super) fn first(&self, names: &[&str]) -> Option<&Value<'a>> {
        names.iter().find_map(|name| self.0.iter().find(|value| value.key == *name))
    }
}

impl<'a> Value<'a> {
    /// Completes a bare number with the unit that the graph declares for this attribute.
    pub(super) fn with_unit(&self, graph: &Attributes<'_>) -> Cow<'a, str> {
        match graph.first(&[&format!("{}_unit", self.key)]) {
            Some(unit) => self.with(unit.text),
            None => Cow::Borrowed(self.text),
        }
    }

    /// Completes a bare number with `unit`.
    pub(super) fn with(&self, unit: &str) -> Cow<'a, str> {
        if self.text.parse::<f64>().is_ok() {
            Cow::Owned(format!("{} {unit}", self.text))
        } else {
            Cow::Borrowed(self.text)
        }
    }
}
