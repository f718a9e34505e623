//! Lines of words: what plain text files of topologies consist of.

use super::Fault;

/// Line that has words.
pub(super) struct Line<'a> {
    /// Number of the line, counted from one.
    pub(super) number: usize,
    pub(super) words: Vec<&'a str>,
}

/// Lines that have words, but for those that begin with `#`.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let words = |line| str::split_whitespace(line).collect::<Vec<_>>();
    let lines = text.lines().zip(1..).map(move |(line, number)| Line { number, words: words(line) });
    lines.filter(|line| line.words.first().is_some_and(|word| !word.starts_with('#')))
}

impl<'a> Line<'a> {
    pub(super) fn fault(&self, problem: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault::new(self.number, problem, hint)
    }

    /// The line's words as so many fields.
    pub(super) fn fields<const N: usize>(&self, form: &str) -> Result<[&'a str; N], Fault> {
        self.words[..].try_into().map_err(|_| {
            let problem = format!("`{}`: {} fields, not {N}", self.words.join(" "), self.words.len());
            self.fault(problem, format!("write {form}"))
        })
    }

    /// Whole number that a word states, at most `most`.
    pub(super) fn number(&self, name: &str, word: &str, most: u32) -> Result<u32, Fault> {
        word.parse().ok().filter(|number| *number <= most).ok_or_else(|| {
            self.fault(
                format!("{name}: `{word}` is out of range"),
                format!("give a whole number from 0 to {most}"),
            )
        })
    }
}
