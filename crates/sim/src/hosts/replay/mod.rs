//! Replay of messages of graphs that repeat.
//!
//! Messages of one *stream* have graph, source, destination and size alike; messages of one *class* have graph and size
//! alike, and whether they leave their leaf. Where the fabric carries nothing but messages that are *known* (several of
//! their stream, or many of their class, were carried, and took about the same time), the next messages are *replayed*: each
//! takes as long as one like it did, and no packet of it is sent. From time to time, and whenever a message begins that is
//! not known, messages are carried again; those that are known then are a sample that says how far replay is off.

mod messages;
mod past;

use crate::pair::Pair;
use crate::{Replay, ReplayRecord, ReplaySample};
use past::{Expected, Past, Time};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Durations that are kept of a stream, and of a class of messages.
const KEPT: usize = 8;
const CLASS_KEPT: usize = 256;

/// Messages of a class that are carried before one is replayed whose stream is not known.
const CLASS_LEARN: usize = 64;

/// Messages of a phase that count for the length of the next are at most so many times those that are under way at once.
const BEFORE_MAX: u64 = 8;

/// Name of a stream: all that its messages have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    work: u32,
    src: u32,
    dst: u32,
    bytes: u64,
}

/// Way of a message to its end.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It waits for those before it, of which one is replayed.
    Waits,
    /// Packet by packet. `expected` is what it should take, if it was known; `clean` says whether nothing was replayed
    /// beside it.
    Carried { expected: Option<Expected>, clean: bool },
    /// It was carried, faster than it would have been beside what was replayed, and waits for the time that it would
    /// have taken.
    Delayed,
    /// It is replayed.
    Replayed,
}

/// A phase, for those who count what ports do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Messages are carried, but some that were replayed are under way still.
    Mixed,
    /// All messages under way are carried.
    Carried,
    /// Known messages are replayed.
    Replayed,
}

/// A message under way.
#[derive(Clone, Copy)]
struct UnderWay {
    key: Key,
    /// Its hosts, if their messages go one after the other.
    pair: Option<Pair>,
    /// Whether the message before it was under way when it was ready.
    follows: bool,
    ready_ps: u64,
    /// When it was ready and the one before it had been delivered.
    since_ps: u64,
    /// When the one before it had been delivered, if there was one.
    before_ps: Option<u64>,
    way: Way,
}

/// Messages between two hosts that go one after the other.
#[derive(Default)]
struct Line {
    under_way: VecDeque<u32>,
    /// When the last one was delivered.
    delivered_ps: Option<u64>,
}

/// Messages that replay knows, and what is under way.
pub(super) struct Replaying {
    replay: Replay,
    /// Leaf of each host.
    leaf_of: Vec<u32>,
    /// Whether known messages are replayed now.
    replays: bool,
    streams: FxHashMap<Key, Past>,
    under_way: FxHashMap<u32, UnderWay>,
    lines: FxHashMap<Pair, Line>,
    /// Streams of messages that have been delivered and whose counters are not final.
    ending: FxHashMap<u32, Key>,
    /// Flows under way that no graph sends.
    others: u64,
    /// Messages under way that are carried and were not known.
    unknown: u64,
    /// Messages under way that are replayed.
    replayed: u64,
    /// Payload of messages that were delivered and are not counted yet: carried, and replayed.
    delivered_bytes: [u64; 2],
    /// The phase that has begun, if nobody heard of it yet.
    begun: Option<Phase>,
    /// Most messages under way at once in this phase.
    width: u64,
    /// Messages of this phase, and of the last one in which messages were carried.
    in_phase: u64,
    carried_before: u64,
    /// Messages of this phase that were carried beside nothing that was replayed.
    clean_in_phase: u64,
    record: ReplayRecord,
}

impl Replaying {
    pub(super) fn new(replay: Replay, leaf_of: Vec<u32>) -> Self {
        Self {
            replay,
            leaf_of,
            replays: false,
            streams: FxHashMap::default(),
            under_way: FxHashMap::default(),
            lines: FxHashMap::default(),
            ending: FxHashMap::default(),
            others: 0,
            unknown: 0,
            replayed: 0,
            delivered_bytes: [0; 2],
            begun: None,
            width: 0,
            in_phase: 0,
            carried_before: 0,
            clean_in_phase: 0,
            record: ReplayRecord { samples: vec![ReplaySample::default()], ..ReplayRecord::default() },
        }
    }

    /// Numbers of messages, and samples.
    fn record(&self) -> ReplayRecord {
        let mut record = self.record.clone();
        record.samples.retain(|sample| !sample.observed_ps.is_empty());
        record
    }

    /// The class of a stream, in place of one.
    fn class(&self, key: &Key) -> Key {
        let leaves = self.leaf_of[key.src as usize] != self.leaf_of[key.dst as usize];
        Key { src: u32::from(leaves), dst: u32::MAX, ..*key }
    }

    /// The past that says how long a message takes, and from how many messages on: its stream's, or where few have its
    /// hosts, its class.
    fn past(&mut self, key: &Key) -> Option<(&mut Past, usize)> {
        let learn = self.replay.learn as usize;
        if self.streams.get(key).is_some_and(|past| past.has(learn)) {
            return self.streams.get_mut(key).map(|past| (past, learn));
        }
        let class = self.class(key);
        self.streams.get_mut(&class).map(|past| (past, CLASS_LEARN))
    }

    fn is_known(&mut self, key: &Key, follows: bool) -> bool {
        let band = self.replay.band;
        self.past(key).is_some_and(|(past, learn)| past.is_known(follows, learn, band))
    }

    /// Time that a message takes, if it is known.
    fn expect(&mut self, key: &Key, follows: bool) -> Option<Expected> {
        let band = self.replay.band;
        self.past(key).and_then(|(past, learn)| past.expect(follows, learn, band))
    }

    /// From now on messages are replayed, or are not.
    fn turn(&mut self, replays: bool) {
        if replays {
            // What is under way loses the company that it would have had.
            for message in self.under_way.values_mut() {
                if let Way::Carried { clean, .. } = &mut message.way {
                    *clean = false;
                }
            }
            self.carried_before = self.in_phase;
        } else {
            self.record.samples.push(ReplaySample::default());
        }
        self.begun = Some(match (replays, self.replayed) {
            (true, _) => Phase::Replayed,
            (false, 0) => Phase::Carried,
            (false, _) => Phase::Mixed,
        });
        self.replays = replays;
        self.in_phase = 0;
        self.clean_in_phase = 0;
        self.width = self.under_way.len() as u64;
    }

    /// All that was learned does not hold any more.
    fn forget(&mut self) {
        self.streams.clear();
        self.record.forgotten += 1;
        for message in self.under_way.values_mut() {
            if let Way::Carried { expected, clean } = &mut message.way {
                self.unknown += u64::from(expected.take().is_some());
                *clean = false;
            }
        }
        self.turn(false);
    }

    /// Whether a message is replayed whose turn it is.
    fn chooses(&mut self, key: &Key, follows: bool) -> bool {
        let known = self.is_known(key, follows);
        if self.replays {
            let shares = 1.0 / self.replay.sample - 1.0;
            let budget = shares * self.carried_before.min(BEFORE_MAX * self.width) as f64;
            if !known || self.others > 0 || self.in_phase as f64 >= budget {
                self.turn(false);
            }
        } else if known && self.others == 0 && self.unknown == 0 && self.clean_in_phase >= self.width {
            if self.record.samples.last().is_some_and(ReplaySample::is_off) {
                self.forget();
            } else {
                self.turn(true);
            }
        }
        self.in_phase += 1;
        self.replays
    }

    /// Way of a message that is carried.
    fn carries(&mut self, key: &Key, follows: bool) -> Way {
        let expected = self.expect(key, follows);
        self.unknown += u64::from(expected.is_none());
        self.record.carried += 1;
        Way::Carried { expected, clean: self.replayed == 0 }
    }

    /// Learns from a message that was carried beside nothing that was replayed.
    fn learn(&mut self, flow: u32, message: &UnderWay, now_ps: u64, expected: Option<Expected>) {
        let time = Time {
            whole_ps: now_ps - message.ready_ps,
            gap_ps: message.before_ps.map(|before_ps| now_ps - before_ps),
            follows: message.follows,
        };
        for (key, kept) in [(message.key, KEPT), (self.class(&message.key), CLASS_KEPT)] {
            self.streams.entry(key).or_insert_with(|| Past::new(kept)).note(time);
        }
        self.ending.insert(flow, message.key);
        self.clean_in_phase += 1;
        if let (Some(expected), Some(sample)) = (expected, self.record.samples.last_mut()) {
            sample.observed_ps.push(time.whole_ps);
            sample.expected_ps.push(expected.due_ps(message.ready_ps, message.since_ps) - message.ready_ps);
        }
    }
}
