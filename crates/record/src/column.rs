//! Column of a table: its name with its unit, its values, and their meaning.

/// Most letters of a word in a column.
pub const WORD_LETTERS_MAX: usize = 16;

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Counts and numbers.
    U64(Vec<u64>),
    /// Counts that a row may lack.
    OptionalU64(Vec<Option<u64>>),
    /// Times and ratios. Times in nanoseconds are exact to the picosecond up to 2^53 ps, 2.5 hours.
    F64(Vec<f64>),
    /// Times and ratios that a row may lack.
    OptionalF64(Vec<Option<f64>>),
    /// Yes or no.
    Bool(Vec<bool>),
    /// Names of nodes, by their numbers.
    Node(Vec<u32>),
    /// Words of a short list, of at most [`WORD_LETTERS_MAX`] letters each.
    Word(Vec<&'static str>),
}

impl Values {
    /// Name of the type, as the schema writes it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::U64(_) | Self::OptionalU64(_) => "integer",
            Self::F64(_) | Self::OptionalF64(_) => "real",
            Self::Bool(_) => "boolean",
            Self::Node(_) => "name",
            Self::Word(_) => "word",
        }
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U64(values) => values.len(),
            Self::OptionalU64(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::OptionalF64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Node(values) => values.len(),
            Self::Word(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Name, ending in its unit.
    pub name: &'static str,
    /// Meaning of the values, in a sentence.
    pub meaning: &'static str,
    /// Values, one per row.
    pub values: Values,
}

/// Makes a column in one line.
pub(crate) fn column(name: &'static str, meaning: &'static str, values: Values) -> Column {
    Column { name, meaning, values }
}

/// Converts picoseconds to nanoseconds.
pub(crate) fn ns(ps: u64) -> f64 {
    ps as f64 / 1e3
}
