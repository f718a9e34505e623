//! Pattern of traffic: pairs of senders and receivers.

use anabranch_form::document::{Node, Table, Value};
use anabranch_form::nearest;
use anabranch_form::unit::{Count, Refusal, Unit, quoted};
use anabranch_traffic::Pattern;

/// Words for the patterns without parameters.
const WORDS: [(&str, Pattern); 6] = [
    ("random-pairs", Pattern::RandomPairs),
    ("inter-rack", Pattern::InterRack),
    ("inter-pod", Pattern::InterPod),
    ("left-to-right", Pattern::LeftToRight),
    ("permutation", Pattern::Permutation),
    ("all-to-all", Pattern::AllToAll),
];

const KEYS: [&str; 3] = ["stride", "into_pod", "pairs"];
const NUMBER: Count = Count { least: 0, most: u32::MAX };

/// A word, or a table of the one parameter that makes a pattern.
pub(crate) struct PatternUnit;

impl PatternUnit {
    fn table(&self, node: &Node, table: &Table) -> Result<Pattern, Refusal> {
        table.refuse_others(&KEYS)?;
        let [entry] = &table.0[..] else {
            return Err(self.refuse(node, "it is not one pattern"));
        };
        match entry.key.as_str() {
            "stride" => NUMBER.read(&entry.node).map(Pattern::Stride),
            "into_pod" => NUMBER.read(&entry.node).map(Pattern::IntoPod),
            _ => {
                let Value::Array(pairs) = &entry.node.value else {
                    return Err(self.refuse_type(&entry.node));
                };
                pairs.iter().map(|pair| self.pair(pair)).collect::<Result<_, _>>().map(Pattern::Pairs)
            }
        }
    }

    fn pair(&self, node: &Node) -> Result<(u32, u32), Refusal> {
        match &node.value {
            Value::Array(ends) if ends.len() == 2 => Ok((NUMBER.read(&ends[0])?, NUMBER.read(&ends[1])?)),
            _ => {
                let mut refusal = self.refuse(node, format!("{} is no pair of hosts", node.value.describe()));
                refusal.hint = "write pairs = [[0, 8], [1, 9]]".to_owned();
                Err(refusal)
            }
        }
    }
}

impl Unit for PatternUnit {
    type Value = Pattern;

    fn read(&self, node: &Node) -> Result<Pattern, Refusal> {
        match &node.value {
            Value::Table(table) => self.table(node, table),
            Value::Text(text) | Value::Bare(text) => {
                let found = WORDS.iter().find(|(word, _)| word == text);
                found.map(|(_, pattern)| pattern.clone()).ok_or_else(|| {
                    let mut refusal = self.refuse(node, format!("`{text}` is unknown"));
                    refusal.hint = nearest::hint(text, WORDS.iter().map(|(word, _)| *word));
                    refusal
                })
            }
            _ => Err(self.refuse_type(node)),
        }
    }

    fn write(&self, value: &Pattern) -> String {
        match value {
            Pattern::Stride(hosts) => format!("{{ stride = {hosts} }}"),
            Pattern::IntoPod(pod) => format!("{{ into_pod = {pod} }}"),
            Pattern::Pairs(pairs) => {
                let pairs: Vec<String> = pairs.iter().map(|(src, dst)| format!("[{src}, {dst}]")).collect();
                format!("{{ pairs = [{}] }}", pairs.join(", "))
            }
            word => quoted(WORDS.iter().find(|(_, pattern)| pattern == word).map_or("", |(word, _)| word)),
        }
    }

    fn wants(&self) -> String {
        let words: Vec<String> = WORDS.iter().map(|(word, _)| quoted(word)).collect();
        format!(
            "{}, {{ stride = 8 }}, {{ into_pod = 0 }} or {{ pairs = [[0, 8], [1, 9]] }}",
            words.join(", ")
        )
    }
}
