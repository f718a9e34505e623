//! The hint of an unknown name: the nearest known one, or all of them.

use strsim::osa_distance;

/// Words of other tools, and ours for the same thing: no edit leads from one to the other.
const OTHERS: [(&str, &str); 8] = [
    ("bandwidth", "rate"),
    ("latency", "delay"),
    ("speed", "rate"),
    ("state", "set"),
    ("status", "set"),
    ("time", "at"),
    ("up", "set"),
    ("down", "set"),
];

/// A word that is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown<'a> {
    /// It is close to this one.
    Near(&'a str),
    /// It is close to none of these.
    Far(Vec<&'a str>),
}

impl<'a> Unknown<'a> {
    /// `word` among the known ones.
    pub fn of(word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        let other =
            OTHERS.iter().find(|(other, name)| *other == word && known.contains(name)).map(|&(_, name)| name);
        match other.or_else(|| near(word, known.iter().copied())) {
            Some(name) => Self::Near(name),
            None => Self::Far(known),
        }
    }

    /// Suggests what to write instead.
    pub fn hint(&self) -> String {
        match self {
            Self::Near(name) => format!("did you mean `{name}`?"),
            Self::Far(known) if known.is_empty() => "leave it out".to_owned(),
            Self::Far(known) => format!("known here: {}", known.join(", ")),
        }
    }
}

/// Suggests a known word to write instead of `word`.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    Unknown::of(word, known).hint()
}

/// The known name that differs from `word` in at most a third of its letters, and the least.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (osa_distance(&word.to_lowercase(), &name.to_lowercase()), name))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, name)| edits <= word.chars().count().max(name.chars().count()) / 3)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::hint;

    #[test]
    fn near_names_are_proposed_and_far_ones_listed() {
        // A swap of neighbours is one edit, so that it stays within a third of a short word.
        assert_eq!(hint("sede", ["seed"]), "did you mean `seed`?");
        assert_eq!(hint("Sead", ["name", "seed"]), "did you mean `seed`?");
        assert_eq!(hint("state", ["set", "rate"]), "did you mean `set`?");
        assert_eq!(hint("state", ["name", "rate"]), "known here: name, rate");
        assert_eq!(hint("colour", ["name", "seed"]), "known here: name, seed");
    }
}
