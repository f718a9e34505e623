//! Connection matrices of htsim (`.cm`): connections that start at a time or by a trigger.
//!
//! `Nodes N`, `Connections M`, perhaps `Triggers T`; then `SRC->DST [id K] [start TIME] size BYTES [trigger T]
//! [send_done_trigger T] [recv_done_trigger T]` and `trigger id T oneshot`, `trigger id T multishot` or `trigger id T
//! count N barrier` (csg-htsim, `sim/datacenter/connection_matrix.cpp`). Programs of htsim read starts in different units:
//! `main_uec.cpp` and `main_swift.cpp` in whole microseconds, `main_ndp.cpp`, `main_roce.cpp`, `main_hpcc.cpp` and
//! `main_eqds.cpp` in picoseconds, which is what its generators of matrices write.

use crate::{Act, Builder, Graph, Node, NodeId, Part, WorkError};
use std::collections::BTreeMap;

/// Unit of `start`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUnit {
    /// Microseconds.
    Microseconds,
    /// Picoseconds.
    Picoseconds,
}

/// Meaning of what a matrix leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Unit of `start`; where none is given it is microseconds, and a warning says so.
    pub start_unit: Option<StartUnit>,
    /// Bytes of a connection of size 0, which has no end in htsim.
    pub endless_bytes: u64,
}

/// Start of a connection as the file has it, in picoseconds. None if it is no decimal number, finer than a picosecond or
/// later than 2^63 ps.
fn start_ps(word: &str, unit: StartUnit) -> Option<u64> {
    let decimals = if unit == StartUnit::Microseconds { 6 } else { 0 };
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let part = part.trim_end_matches('0');
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > decimals {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok().filter(|&ps| ps < 1 << 63)
}

/// When a trigger starts what it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Shots {
    /// All at the only activation.
    #[default]
    One,
    /// The next one at each activation.
    Each,
    /// All at the last of so many activations.
    Barrier(u64),
}

#[derive(Default)]
struct Trigger {
    shots: Shots,
    line: u32,
    /// Nodes whose end activates it, and nodes that it starts.
    before: Vec<NodeId>,
    after: Vec<(NodeId, u32)>,
}

/// Reads a connection matrix. A message's `send_done_trigger` and `recv_done_trigger` fire when its last byte is
/// delivered. The graph
/// warns of a unit that was not given, and of connections without end.
///
/// # Errors
/// The first line at fault.
pub fn read(text: &str, file: &str, settings: Settings) -> Result<Graph, WorkError> {
    let mut nodes: Option<u32> = None;
    let mut expected: Option<(u64, u32)> = None;
    let mut builder: Option<Builder> = None;
    let mut triggers: BTreeMap<u64, Trigger> = BTreeMap::new();
    let unit = settings.start_unit.unwrap_or(StartUnit::Microseconds);
    let (mut found, mut late, mut endless) = (0, 0, 0);
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
                    ["multishot"] => trigger.shots = Shots::Each,
                    ["count", count, "barrier"] => trigger.shots = Shots::Barrier(number(count)?),
                    _ => {
                        let problem = format!("trigger `{}`", rest.join(" "));
                        return Err(error(&problem, "write `oneshot`, `multishot` or `count N barrier`"));
                    }
                }
            }
            [pair, words @ ..] if pair.contains("->") => {
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
                for setting in words.chunks(2) {
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
                    let start = || {
                        start_ps(value, unit).ok_or_else(|| {
                            let hint = "give a decimal number of microseconds, or of picoseconds with start_unit = \"ps\", \
                                        no finer than a picosecond and below 2^63 ps";
                            error(&format!("start {value}"), hint)
                        })
                    };
                    set.insert(name, if *name == "start" { start()? } else { number(value)? });
                }
                let Some(&size) = set.get("size") else {
                    return Err(error("a connection without a size", "give `size BYTES`"));
                };
                if size == 0
                    && (set.contains_key("send_done_trigger") || set.contains_key("recv_done_trigger"))
                {
                    let hint = "give it a size, or no trigger to activate";
                    return Err(error("a connection of size 0 has no end that activates a trigger", hint));
                }
                let bytes = if size == 0 { settings.endless_bytes.max(1) } else { size };
                endless += u64::from(size == 0);
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
                let ps = set.get("start").copied().unwrap_or(0);
                late = late.max(ps);
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
    connect(&triggers, file, found as u32, &mut builder)?;
    if late > 0 && settings.start_unit.is_none() {
        builder.warn(format!(
            "{file}: starts are read as microseconds, as main_uec of htsim does, so that the last connection begins after \
             {} us; other programs of htsim read picoseconds: give start_unit = \"us\" or \"ps\"",
            late as f64 / 1e6
        ));
    }
    if endless > 0 {
        builder.warn(format!(
            "{file}: {endless} connections have size 0 and no end in htsim; here each carries {} B (`size`)",
            settings.endless_bytes.max(1)
        ));
    }
    Ok(builder.finish())
}

/// Lets what a trigger starts require what activates it. `tag` is the first that no connection has.
fn connect(
    triggers: &BTreeMap<u64, Trigger>,
    file: &str,
    tag: u32,
    builder: &mut Builder,
) -> Result<(), WorkError> {
    for ((id, trigger), tag) in triggers.iter().zip(tag..) {
        let activations = trigger.before.len() as u64;
        if trigger.line == 0 {
            let line = trigger.after.first().map_or(0, |&(_, line)| line);
            let hint = format!("add `trigger id {id} oneshot`");
            return Err(WorkError::at_line(file, line, format!("trigger {id} is not there"), hint));
        }
        let starts = trigger.after.len() as u64;
        let fits = match trigger.shots {
            Shots::One => activations == 1,
            Shots::Barrier(count) => activations == count,
            Shots::Each => activations >= starts,
        };
        if starts > 0 && !fits {
            let problem = format!("trigger {id} is activated {activations} times");
            let hint = "let one connection activate a oneshot trigger, as many as its number a barrier, and as many as it \
                        starts a multishot trigger";
            return Err(WorkError::at_line(file, trigger.line, problem, hint));
        }
        if trigger.shots == Shots::Each {
            in_turn(trigger, tag, builder)?;
            continue;
        }
        for &(after, _) in &trigger.after {
            for &before in &trigger.before {
                builder.requires(after, before);
            }
        }
    }
    Ok(())
}

/// Lets the k-th connection of a trigger begin at its k-th activation, whichever that is. Each activation is a message of
/// a rank to itself, which takes no time, and each connection waits for one of them: receives of one label take messages
/// in the order of arrival.
fn in_turn(trigger: &Trigger, tag: u32, builder: &mut Builder) -> Result<(), WorkError> {
    let Some(&(first, line)) = trigger.after.first() else { return Ok(()) };
    let rank = builder.rank_of(first);
    let mut add = |act| builder.add(rank, Node { act, cpu: 0, nic: 0, part: 0, line });
    let mut shots = Vec::new();
    for _ in &trigger.before {
        let send = add(Act::Send { to: rank, bytes: 1, tag })?;
        shots.push((send, add(Act::Recv { from: Some(rank), bytes: 1, tag: Some(tag) })?));
    }
    for (&before, &(send, _)) in trigger.before.iter().zip(&shots) {
        builder.requires(send, before);
    }
    for (&(after, _), &(_, recv)) in trigger.after.iter().zip(&shots) {
        builder.requires(after, recv);
    }
    Ok(())
}
