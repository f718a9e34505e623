//! The hint of an unknown name: the nearest known one, or all of them.

/// Suggests a known word to write instead of `word`.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match near(word, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "leave it out".to_owned(),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The known name that differs from `word` in at most a third of its letters, and the least.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (distance(&word.to_lowercase(), &name.to_lowercase()), name))
        .min_by_key(|&(edits, _)| edits)
        .filter(|&(edits, name)| edits <= word.chars().count().max(name.chars().count()) / 3)
        .map(|(_, name)| name)
}

/// Edits between two words: insertions, deletions, replacements, swaps of neighbours (optimal string alignment,
/// Damerau 1964).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: [Vec<usize>; 3] = [Vec::new(), vec![0; b.len() + 1], (0..=b.len()).collect()];
    for i in 1..=a.len() {
        rows.rotate_left(1);
        rows[2] = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = rows[1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[1][j] + 1).min(rows[2][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[0][j - 2] + 1);
            }
            rows[2][j] = least;
        }
    }
    rows[2][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, hint};

    #[test]
    fn distances_are_those_of_damerau() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("leaves", "leaves", 0),
            ("laeves", "leaves", 1),
            ("leafs", "leaves", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn near_names_are_proposed_and_far_ones_listed() {
        assert_eq!(hint("Sead", ["name", "seed"]), "did you mean `seed`?");
        assert_eq!(hint("colour", ["name", "seed"]), "known here: name, seed");
    }
}
