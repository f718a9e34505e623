//! Keys whose value is one of a few words.

use crate::Keys;
use crate::unit::Choice;

/// Shows a key whose words stand for `values`, in the same order.
pub fn word<T: Copy + PartialEq>(
    form: &mut impl Keys,
    name: &'static str,
    words: &'static [&'static str],
    values: &[T],
    value: &mut T,
    meaning: &'static str,
) {
    let index = values.iter().position(|known| known == value).unwrap_or(0);
    let mut word = words[index];
    form.key(name, Choice(words), &mut word, meaning);
    if let Some(read) = words.iter().zip(values).find(|(known, _)| **known == word) {
        *value = *read.1;
    }
}
