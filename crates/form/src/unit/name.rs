//! Names of nodes, links and ports: what they name is found when the fabric stands.

use crate::Position;
use crate::document::{Node, Value};
use crate::unit::{Refusal, Unit, quoted};

/// A name with the position where it was written. Equal by what it says.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub text: String,
    /// Location in the document.
    pub position: Position,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A name that is looked up later.
#[derive(Clone, Copy)]
pub struct Name {
    /// Description of a valid name, after "give".
    pub wants: &'static str,
}

impl Unit for Name {
    type Value = Named;

    fn read(&self, node: &Node) -> Result<Named, Refusal> {
        match &node.value {
            Value::Text(text) | Value::Bare(text) if !text.is_empty() => {
                Ok(Named { text: text.clone(), position: node.position.clone() })
            }
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &Named) -> String {
        quoted(&value.text)
    }

    fn wants(&self) -> String {
        self.wants.to_owned()
    }
}
