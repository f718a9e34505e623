//! Messages on their way: carried, replayed, or waiting for those before them.

use super::{Key, Phase, UnderWay, Way};
use crate::hosts::Hosts;
use crate::network::Network;
use crate::pair::{Pair, Stream};
use crate::timers::Timer;
use crate::{ReplayRecord, SimulationError};
use anabranch_traffic::{Flow, Start};

impl Hosts<'_> {
    /// Messages that were replayed and carried, if any may be replayed.
    pub(crate) fn replay_record(&self) -> Option<ReplayRecord> {
        self.replaying.as_ref().map(|replaying| replaying.record())
    }

    /// The fabric has changed: what was learned does not hold any more.
    pub(crate) fn forget_streams(&mut self, network: &mut Network) {
        if let Some(replaying) = &mut self.replaying {
            replaying.forget();
            network.attention = true;
        }
    }

    /// The phase that has begun since the last call, if one has.
    pub(crate) fn take_phase(&mut self) -> Option<Phase> {
        self.replaying.as_mut().and_then(|replaying| replaying.begun.take())
    }

    /// Payload that was delivered since the last call: carried, and replayed.
    pub(crate) fn take_delivered(&mut self) -> [u64; 2] {
        self.replaying.as_mut().map_or([0; 2], |replaying| std::mem::take(&mut replaying.delivered_bytes))
    }

    /// Payload of messages under way that has been carried so far, as far as their streams say.
    pub(crate) fn carried_ahead_bytes(&self, now_ps: u64) -> u64 {
        let ahead = |message: &UnderWay| {
            let Way::Carried { expected: Some(expected), .. } = message.way else { return 0 };
            let due_ps = expected.due_ps(message.ready_ps, message.since_ps);
            let gone_ps = now_ps.saturating_sub(message.since_ps).min(due_ps - message.since_ps);
            let part = u128::from(message.key.bytes) * u128::from(gone_ps);
            (part / u128::from((due_ps - message.since_ps).max(1))) as u64
        };
        self.replaying.as_ref().map_or(0, |replaying| replaying.under_way.values().map(ahead).sum())
    }

    /// Whether replay takes over a flow that has begun: it is opened later, or never.
    pub(in crate::hosts) fn is_taken_over(&mut self, index: u32, network: &mut Network) -> bool {
        let pair = self.pair_of(index);
        let &Flow { src, dst, size_bytes: bytes, start, .. } = self.flows.flow(index);
        let Some(replaying) = &mut self.replaying else { return false };
        let Start::Ready { work, .. } = start else {
            replaying.others += 1;
            return false;
        };
        let ready_ps = network.now_ps;
        let mut message = UnderWay {
            key: Key { work, src, dst, bytes },
            pair: (pair.stream != Stream::Any).then_some(pair),
            follows: false,
            ready_ps,
            since_ps: ready_ps,
            before_ps: None,
            way: Way::Waits,
        };
        let mut waits = false;
        if let Some(pair) = message.pair {
            let line = replaying.lines.entry(pair).or_default();
            message.follows = !line.under_way.is_empty();
            message.before_ps = line.delivered_ps;
            let is_carried = |flow: &u32| matches!(replaying.under_way[flow].way, Way::Carried { .. });
            waits = !line.under_way.iter().all(is_carried);
            line.under_way.push_back(index);
        }
        replaying.under_way.insert(index, message);
        replaying.width = replaying.width.max(replaying.under_way.len() as u64);
        waits || self.is_held_back(index, network)
    }

    /// Whether a message, all before which are carried, is not to be opened now: it is replayed, or will be when they have
    /// been delivered.
    fn is_held_back(&mut self, index: u32, network: &mut Network) -> bool {
        let Some(replaying) = &mut self.replaying else { return false };
        let Some(&UnderWay { key, pair, follows, ready_ps, .. }) = replaying.under_way.get(&index) else {
            return false;
        };
        let is_first = pair.is_none_or(|pair| replaying.lines[&pair].under_way.front() == Some(&index));
        let is_replayed = replaying.chooses(&key, follows);
        network.attention |= replaying.begun.is_some();
        let way = match is_replayed {
            false => replaying.carries(&key, follows),
            true if !is_first => return true,
            true => Way::Replayed,
        };
        if is_replayed {
            replaying.replayed += 1;
            replaying.record.replayed += 1;
            let expected = replaying.expect(&key, follows);
            let due_ps =
                expected.map_or(network.now_ps, |expected| expected.due_ps(ready_ps, network.now_ps));
            network.wake_at(due_ps.max(network.now_ps), Timer::Replay(index));
        }
        if let Some(message) = replaying.under_way.get_mut(&index) {
            message.way = way;
        }
        is_replayed
    }

    /// A message that was taken over is due: to be opened, or delivered.
    pub(in crate::hosts) fn replay(
        &mut self,
        index: u32,
        network: &mut Network,
    ) -> Result<(), SimulationError> {
        let Some(replaying) = &self.replaying else { return Ok(()) };
        let Some(&UnderWay { key, pair, way, .. }) = replaying.under_way.get(&index) else { return Ok(()) };
        match way {
            Way::Waits => {
                if !self.is_held_back(index, network) {
                    self.begin_in_turn(index, network)?;
                    pair.iter().for_each(|pair| self.wake_waiting(pair, network));
                }
            }
            Way::Delayed => {
                self.finish_flow(index, network);
                self.flows.release_end(index);
            }
            Way::Replayed => {
                let counters = replaying.streams.get(&key).and_then(|past| past.counters);
                self.flows.record(index).repeat(counters, key.bytes, self.framing);
                self.finish_flow(index, network);
                self.flows.end(index);
            }
            Way::Carried { .. } => {}
        }
        Ok(())
    }

    /// Whether a flow whose last byte is there is delivered later, when it would have been beside what is replayed. If
    /// not, what it leaves is noted.
    pub(in crate::hosts) fn is_delayed(&mut self, index: u32, network: &mut Network) -> bool {
        let now_ps = network.now_ps;
        let Some(replaying) = &mut self.replaying else { return false };
        for (flow, record) in self.flows.take_ended() {
            if let Some(past) = replaying.ending.remove(&flow).and_then(|key| replaying.streams.get_mut(&key))
            {
                past.counters = Some(record);
            }
        }
        let Some(message) = replaying.under_way.get_mut(&index) else {
            replaying.others -= 1;
            return false;
        };
        if let Way::Carried { expected: Some(expected), clean: false } = message.way {
            let due_ps = expected.due_ps(message.ready_ps, message.since_ps);
            if now_ps < due_ps {
                message.way = Way::Delayed;
                network.wake_at(due_ps, Timer::Replay(index));
                self.flows.hold_end(index);
                return true;
            }
        }
        let message = *message;
        replaying.under_way.remove(&index);
        match message.way {
            Way::Carried { expected, clean } => {
                replaying.unknown -= u64::from(expected.is_none());
                if clean {
                    replaying.learn(index, &message, now_ps, expected);
                    self.flows.want_end(index);
                }
            }
            Way::Replayed => {
                replaying.replayed -= 1;
                if replaying.replayed == 0 && !replaying.replays {
                    replaying.begun = Some(Phase::Carried);
                    network.attention = true;
                }
            }
            Way::Waits | Way::Delayed => {}
        }
        replaying.delivered_bytes[usize::from(message.way == Way::Replayed)] += message.key.bytes;
        if let Some(pair) = message.pair {
            self.go_on_behind(index, &pair, network);
        }
        false
    }

    /// A message between two hosts has been delivered: it is the turn of the next.
    fn go_on_behind(&mut self, index: u32, pair: &Pair, network: &mut Network) {
        let Some(replaying) = &mut self.replaying else { return };
        let Some(line) = replaying.lines.get_mut(pair) else { return };
        let was_first = line.under_way.front() == Some(&index);
        line.under_way.retain(|&flow| flow != index);
        line.delivered_ps = Some(network.now_ps);
        if !was_first {
            return;
        }
        let next = line.under_way.front().copied();
        if let Some(message) = next.and_then(|next| replaying.under_way.get_mut(&next)) {
            message.since_ps = network.now_ps;
            message.before_ps = Some(network.now_ps);
        }
        self.wake_waiting(pair, network);
    }

    /// Wakes the first message between two hosts that waits: all before it are carried, or there is none.
    fn wake_waiting(&self, pair: &Pair, network: &mut Network) {
        let Some(replaying) = &self.replaying else { return };
        let Some(line) = replaying.lines.get(pair) else { return };
        let waits = |flow: &&u32| replaying.under_way[flow].way == Way::Waits;
        if let Some(&flow) = line.under_way.iter().find(waits) {
            network.wake_at(network.now_ps, Timer::Replay(flow));
        }
    }
}
