//! Connection matrices of htsim (`.cm`): connections that start at a time or by a trigger.
//!
//! `Nodes N`, `Connections M`, perhaps `Triggers T`; then `SRC->DST [id K] [start TIME] size BYTES [trigger T]
//! [send_done_trigger T] [recv_done_trigger T]` and `trigger id T oneshot` or `trigger id T count N barrier`. A start is
//! in whole microseconds, as that program reads it, whatever its comments say.

use crate::{Act, Builder, Graph, Node, NodeId, Part, WorkError};
use std::collections::BTreeMap;

/// Picoseconds in the unit of `start`.
const PS_PER_US: u64 = 1_000_000;

#[derive(Default)]
struct Trigger {
    /// Activations that a barrier waits for; none if it is no barrier.
    count: Option<u64>,
    line: u32,
    /// Nodes whose end activates it, and nodes that it starts.
    before: Vec<NodeId>,
    after: Vec<(NodeId, u32)>,
}

/// Reads a connection matrix. A message's `send_done_trigger` and `recv_done_trigger` fire when its last byte is
/// delivered.
///
/// # Errors
/// The first line at fault.
pub fn read(text: &str, file: &str) -> Result<Graph, WorkError> {
    let mut nodes: Option<u32> = None;
    let mut expected: Option<(u64, u32)> = None;
    let mut builder: Option<Builder> = None;
    let mut triggers: BTreeMap<u64, Trigger> = BTreeMap::new();
    let mut found = 0;
    for (line, content) in (1..).zip(text.lines()) {
        let error = |problem: &str, hint: &str| WorkError::at_line(file, line, problem, hint);
        let number = |word: &str| -> Result<u64, WorkError> {
            word.parse().map_err(|_| error(&format!("`{word}` is no whole number"), "give a whole number"))
        };
        let words: Vec<&str> = content.split_whitespace().collect();
        match &words[..] {
            [] => {}
            [comment, ..] if comment.starts_with('#') => {}
            ["Nodes", count] if nodes.is_none() => {
                let count = u32::try_from(number(count)?).unwrap_or(u32::MAX);
                builder =
                    Some(Builder::new(file, count).map_err(|wrong| error(&wrong.problem, &wrong.hint))?);
                nodes = Some(count);
            }
            ["Connections", count] => expected = Some((number(count)?, line)),
            ["Triggers", count] => {
                number(count)?;
            }
            ["trigger", "id", id, rest @ ..] => {
                let trigger = triggers.entry(number(id)?).or_default();
                trigger.line = line;
                match rest {
                    ["oneshot"] => {}
                    ["count", count, "barrier"] => trigger.count = Some(number(count)?),
                    _ => {
                        let problem = format!("trigger `{}`", rest.join(" "));
                        let hint = "write `oneshot` or `count N barrier`: multishot triggers are not read";
                        return Err(error(&problem, hint));
                    }
                }
            }
            [pair, settings @ ..] if pair.contains("->") => {
                let (Some(builder), Some(count)) = (&mut builder, nodes) else {
                    return Err(error("a connection before `Nodes`", "begin the file with `Nodes N`"));
                };
                let (from, to) = pair.split_once("->").unwrap_or_default();
                let (from, to) = (number(from)?, number(to)?);
                if let Some(host) = [from, to].into_iter().find(|&host| host >= count.into()) {
                    let hint = format!("name nodes from 0 to {}, or raise Nodes", count - 1);
                    return Err(error(&format!("node {host} of {count}"), &hint));
                }
                let mut set: BTreeMap<&str, u64> = BTreeMap::new();
                for setting in settings.chunks(2) {
                    let [name, value] = setting else {
                        return Err(error(
                            &format!("`{}` without a value", setting[0]),
                            "give a number behind it",
                        ));
                    };
                    let known =
                        ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio"];
                    if !known.contains(name) {
                        return Err(error(
                            &format!("`{name}`"),
                            "write start, size, id, trigger or *_done_trigger",
                        ));
                    }
                    set.insert(name, number(value)?);
                }
                let Some(&bytes) = set.get("size").filter(|&&size| size > 0) else {
                    return Err(error("a connection without a size", "give `size BYTES`, at least one byte"));
                };
                if set.contains_key("start") == set.contains_key("trigger") {
                    return Err(error(
                        "a connection begins at a time or by a trigger",
                        "give one of `start` and `trigger`",
                    ));
                }
                let (from, to) = (from as u32, to as u32);
                if found == 0 {
                    builder.begin_part(Part {
                        step: 0,
                        name: "matrix".to_owned(),
                        bytes: 0,
                        ranks: count,
                        bus: None,
                    });
                }
                let mut add = |rank, act| builder.add(rank, Node { act, cpu: 0, nic: 0, part: 0, line });
                let tag = found as u32;
                let ps = set.get("start").copied().unwrap_or(0).checked_mul(PS_PER_US);
                let ps = ps.ok_or_else(|| error("a start after years", "give microseconds"))?;
                let wait = add(from, Act::Wait { ps })?;
                let send = add(from, Act::Send { to, bytes, tag })?;
                let recv = add(to, Act::Recv { from: Some(from), bytes, tag: Some(tag) })?;
                builder.requires(send, wait);
                if let Some(&id) = set.get("trigger") {
                    triggers.entry(id).or_default().after.push((wait, line));
                }
                for (name, node) in [("send_done_trigger", send), ("recv_done_trigger", recv)] {
                    if let Some(&id) = set.get(name) {
                        triggers.entry(id).or_default().before.push(node);
                    }
                }
                found += 1;
            }
            [word, ..] => {
                return Err(error(
                    &format!("`{word}`"),
                    "write `Nodes N`, `Connections M`, `SRC->DST ...` or `trigger id ...`",
                ));
            }
        }
    }
    let Some(mut builder) = builder else {
        return Err(WorkError::at_line(file, 1, "no `Nodes`", "begin the file with `Nodes N`"));
    };
    if let Some((count, line)) = expected.filter(|&(count, _)| count != found) {
        let problem = format!("Connections {count}, and {found} follow");
        return Err(WorkError::at_line(file, line, problem, "complete the file, or correct the number"));
    }
    connect(&triggers, file, &mut builder)?;
    Ok(builder.finish())
}

/// Lets what a trigger starts require what activates it.
fn connect(triggers: &BTreeMap<u64, Trigger>, file: &str, builder: &mut Builder) -> Result<(), WorkError> {
    for (id, trigger) in triggers {
        let activations = trigger.before.len() as u64;
        if trigger.line == 0 {
            let line = trigger.after.first().map_or(0, |&(_, line)| line);
            let hint = format!("add `trigger id {id} oneshot`");
            return Err(WorkError::at_line(file, line, format!("trigger {id} is not there"), hint));
        }
        if !trigger.after.is_empty() && activations != trigger.count.unwrap_or(1) {
            let problem = format!("trigger {id} is activated {activations} times");
            let hint = "let one connection activate a oneshot trigger, and as many as its number a barrier";
            return Err(WorkError::at_line(file, trigger.line, problem, hint));
        }
        for &(after, _) in &trigger.after {
            for &before in &trigger.before {
                builder.requires(after, before);
            }
        }
    }
    Ok(())
}
