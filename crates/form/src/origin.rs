//! Origin of a table: its location in the file, for errors that are found in it later.

use crate::{FormError, Position};

/// Location of a table and of its keys. All origins are equal: where a scenario was written makes it no other.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Keys that lead to the table, each with its dot.
    pub path: String,
    /// Location of the first key of the table.
    pub table: Position,
    /// Location of each key.
    pub keys: Vec<(&'static str, Position)>,
}

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            path: String::new(),
            table: Position { source: "scenario".into(), line: None },
            keys: Vec::new(),
        }
    }
}

impl Origin {
    /// Whether the table has this key, or an override gave it.
    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|(name, _)| *name == key)
    }

    /// An error of this table, at the key of it that is at fault, if it is one alone; `inner.key` is one of a table in it.
    pub fn error<'a>(
        &self,
        key: impl Into<Option<&'a str>>,
        problem: &str,
        hint: impl Into<String>,
    ) -> FormError {
        let key = key.into();
        let first = key.and_then(|key| key.split('.').next());
        let given = self.keys.iter().find(|(name, _)| Some(*name) == first).map(|(_, position)| position);
        let position = given.unwrap_or(&self.table).clone();
        let path = key
            .map_or_else(|| self.path.trim_end_matches('.').to_owned(), |key| format!("{}{key}", self.path));
        FormError::new(position, format!("{path}: {problem}"), hint)
    }
}
