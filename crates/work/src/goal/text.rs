//! GOAL as text: one node or dependency a line.

use super::{ANY, PS_PER_NS, known};
use crate::{Act, Builder, Graph, Node, NodeId, WorkError};
use std::collections::HashMap;

/// Reads a GOAL schedule. `file` names it in errors.
///
/// # Errors
/// The first line at fault. Whether the schedule can end is for [`Graph::check`] to say.
pub fn read_text(text: &str, file: &str) -> Result<Graph, WorkError> {
    let mut reader = Reader { file, line: 0, builder: None, ranks: 0, rank: None, labels: HashMap::new() };
    let mut comment = false;
    for (line, content) in (1..).zip(text.lines()) {
        reader.line = line;
        let content = content.trim();
        if comment || content.starts_with("/*") {
            comment = !content.contains("*/");
            if !comment && !content.ends_with("*/") {
                return Err(reader.error("something after a comment", "give it a line of its own"));
            }
        } else if !content.is_empty() && !content.starts_with("//") {
            reader.read_line(content)?;
        }
    }
    if let Some(rank) = reader.rank {
        return Err(reader.error(&format!("the file ends within rank {rank}"), "end each rank with `}`"));
    }
    let without = reader.error("no `num_ranks`", "begin the file with `num_ranks N`");
    Ok(reader.builder.ok_or(without)?.finish())
}

struct Reader<'a> {
    file: &'a str,
    line: u32,
    builder: Option<Builder>,
    ranks: u32,
    rank: Option<u32>,
    /// Nodes of the present rank by label.
    labels: HashMap<String, NodeId>,
}

impl Reader<'_> {
    fn error(&self, problem: &str, hint: &str) -> WorkError {
        WorkError::at_line(self.file, self.line, problem, hint)
    }

    fn read_line(&mut self, content: &str) -> Result<(), WorkError> {
        let words: Vec<&str> = content.split_whitespace().collect();
        match (&words[..], self.rank) {
            (["num_ranks", ranks], None) if self.builder.is_none() => {
                self.ranks = self.number(ranks, "a number of ranks")?;
                let builder = Builder::new(self.file, self.ranks);
                self.builder = Some(builder.map_err(|error| self.error(&error.problem, &error.hint))?);
                Ok(())
            }
            (["rank", rank, "{"], None) if self.builder.is_some() => {
                let rank: u32 = self.number(rank, "a rank")?;
                if rank >= self.ranks {
                    let hint = format!("name ranks from 0 to {}, or raise num_ranks", self.ranks - 1);
                    return Err(self.error(&format!("rank {rank} of {} ranks", self.ranks), &hint));
                }
                self.rank = Some(rank);
                self.labels.clear();
                Ok(())
            }
            (["}"], Some(_)) => {
                self.rank = None;
                Ok(())
            }
            ([after, "requires", before], Some(_)) => self.dependency(after, before, true),
            ([after, "irequires", before], Some(_)) => self.dependency(after, before, false),
            (_, Some(rank)) => self.operation(rank, &words),
            (_, None) if self.builder.is_none() => {
                Err(self
                    .error(&format!("`{content}` before `num_ranks`"), "begin the file with `num_ranks N`"))
            }
            _ => Err(self.error(
                &format!("`{content}` outside of a rank"),
                "write `rank R {` before it, alone on a line",
            )),
        }
    }

    fn number<N: std::str::FromStr>(&self, word: &str, what: &str) -> Result<N, WorkError> {
        word.parse().map_err(|_| {
            self.error(&format!("`{word}` is not {what}"), "give a whole number in range, without a fraction")
        })
    }

    /// A rank or a tag; -1 is any where a receive stands.
    fn label(&self, word: &str, what: &str, receives: bool) -> Result<u32, WorkError> {
        match word {
            "-1" if receives => Ok(ANY),
            _ => {
                let number: u32 = self.number(word, what)?;
                if number == ANY {
                    return Err(self.error(&format!("`{word}` stands for any"), "write -1, in a receive"));
                }
                Ok(number)
            }
        }
    }

    fn dependency(&mut self, after: &str, before: &str, end: bool) -> Result<(), WorkError> {
        let find = |label: &str| {
            self.labels.get(label).copied().ok_or_else(|| {
                let hint = "name labels that stand above, in the same rank";
                self.error(&format!("no label `{label}` yet"), hint)
            })
        };
        let (after, before) = (find(after)?, find(before)?);
        if let Some(builder) = &mut self.builder {
            if end { builder.requires(after, before) } else { builder.irequires(after, before) }
        }
        Ok(())
    }

    fn operation(&mut self, rank: u32, words: &[&str]) -> Result<(), WorkError> {
        let (label, words) = match words[0].strip_suffix(':') {
            Some(label) => (Some(label), &words[1..]),
            None => (None, words),
        };
        let (act, more) = match words {
            ["calc", time, more @ ..] => {
                let ns: u64 = self.number(time, "a time in ns")?;
                let ps = ns.checked_mul(PS_PER_NS);
                let ps = ps.ok_or_else(|| self.error(&format!("calc {ns}"), "give at most 2^54 ns"))?;
                (Act::Calc { ps }, more)
            }
            [what @ ("send" | "recv"), size, way @ ("to" | "from"), peer, more @ ..]
                if (*what == "send") == (*way == "to") =>
            {
                let receives = *what == "recv";
                let digits = size.strip_suffix('b').ok_or_else(|| {
                    self.error(&format!("size `{size}`"), "write bytes with a `b`: `1024b`")
                })?;
                let bytes = self.number(digits, "a size in bytes")?;
                if bytes == 0 {
                    return Err(self.error("a message of 0 bytes", "give it at least one byte: `1b`"));
                }
                let peer = self.label(peer, "a rank", receives)?;
                let (tag, more) = match more {
                    ["tag", tag, more @ ..] => (self.label(tag, "a tag", receives)?, more),
                    _ => (0, more),
                };
                let act = if receives {
                    Act::Recv { from: known(peer), bytes, tag: known(tag) }
                } else {
                    Act::Send { to: peer, bytes, tag }
                };
                (act, more)
            }
            _ => {
                let hint = "write `calc NS`, `send SIZEb to RANK tag TAG`, `recv SIZEb from RANK tag TAG`, \
                            `LABEL requires LABEL` or `LABEL irequires LABEL`";
                return Err(self.error(&format!("`{}` is no operation", words.join(" ")), hint));
            }
        };
        let (cpu, more) = match more {
            ["cpu", cpu, more @ ..] => (self.number(cpu, "a processor below 256")?, more),
            _ => (0, more),
        };
        let (nic, more) = match more {
            ["nic", nic, more @ ..] if !matches!(act, Act::Calc { .. }) => {
                (self.number(nic, "a network card below 256")?, more)
            }
            _ => (0, more),
        };
        if let Some(word) = more.first() {
            let hint = "keep the order `tag`, `cpu`, `nic`; `calc` has no `nic`; comments and `}` stand alone on a line";
            return Err(self.error(&format!("`{word}` after an operation"), hint));
        }
        if let Act::Send { to: peer, .. } | Act::Recv { from: Some(peer), .. } = act
            && peer >= self.ranks
        {
            let hint = format!("name ranks from 0 to {}, or raise num_ranks", self.ranks - 1);
            return Err(self.error(&format!("rank {peer} of {} ranks", self.ranks), &hint));
        }
        let node = Node { act, cpu, nic, part: 0, line: self.line };
        let Some(builder) = &mut self.builder else { return Ok(()) };
        let id = builder.add(rank, node)?;
        if let Some(label) = label
            && self.labels.insert(label.to_owned(), id).is_some()
        {
            return Err(
                self.error(&format!("label `{label}` twice"), "give each node of a rank its own label")
            );
        }
        Ok(())
    }
}
