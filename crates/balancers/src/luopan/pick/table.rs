//! Congestion table: samples of a few paths to each destination in use, and the current round of probes.

use crate::luopan::pick::{Answer, Counts, Parameters, Preference, Resample, Stale, probe};
use anabranch_split::picks::least::Least;
use anabranch_split::picks::store::Store;
use anabranch_split::picks::uniform;
use anabranch_split::{Env, random_below};

/// Path that was sampled, or is being probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Number of the path.
    pub path: u16,
    /// Whether the answer has arrived.
    answered: bool,
    /// Sum of the backlogs along it: bytes, or steps of the 7-bit metric.
    pub backlog: u32,
}

/// State of one destination.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    in_use: bool,
    /// Time at which a unit last went there.
    used_ns: u64,
    /// Time at which the last round of probes was sent.
    asked_ns: u64,
    /// Time at which the next round is due.
    due_ns: u64,
    /// Number of samples to choose from.
    held: u16,
    /// Time at which those were asked for.
    held_ns: u64,
    /// Number of probes of the current round, and of those that were answered.
    asked: u16,
    answered: u16,
}

impl Entry {
    fn touch(&mut self, now_ns: u64) {
        if !self.in_use {
            *self = Self { in_use: true, ..Self::default() };
        }
        self.used_ns = now_ns;
    }
}

/// Congestion table of one leaf.
pub struct State<S: Store> {
    entries: S::Of<Entry>,
    /// Samples to choose from, [`Self::slots`] for each destination.
    held: S::Of<Sample>,
    /// Samples of the current round, in the same order.
    asked: S::Of<Sample>,
    slots: u16,
    counts: Counts,
}

impl<S: Store> State<S> {
    /// Makes a table of `entries` destinations with room for `slots` samples of each in `held` and `asked`.
    pub const fn new(entries: S::Of<Entry>, held: S::Of<Sample>, asked: S::Of<Sample>, slots: u16) -> Self {
        Self { entries, held, asked, slots, counts: Counts { sampled: 0, random: 0, age_ns: 0 } }
    }

    /// Entry of a destination with its samples to choose from and its current round.
    #[inline(always)]
    fn row(&mut self, destination: u32) -> Option<(&mut Entry, &mut [Sample], &mut [Sample])> {
        let slots = usize::from(self.slots);
        let first = destination as usize * slots;
        let row = first..first + slots;
        Some((
            self.entries.as_mut().get_mut(destination as usize)?,
            self.held.as_mut().get_mut(row.clone())?,
            self.asked.as_mut().get_mut(row)?,
        ))
    }

    /// Samples that choices towards a destination rest on.
    #[must_use]
    pub fn samples(&self, destination: u32) -> &[Sample] {
        let held = self.entries.as_ref().get(destination as usize).map_or(0, |entry| usize::from(entry.held));
        let first = destination as usize * usize::from(self.slots);
        self.held.as_ref().get(first..first + held).unwrap_or(&[])
    }

    /// Choices so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// A destination is in use from now on.
    pub fn touch(&mut self, destination: u32, now_ns: u64) {
        if let Some((entry, _, _)) = self.row(destination) {
            entry.touch(now_ns);
        }
    }

    /// Whether units went to a destination lately.
    #[must_use]
    pub fn is_in_use(&self, destination: u32) -> bool {
        self.entries.as_ref().get(destination as usize).is_some_and(|entry| entry.in_use)
    }

    /// Chooses the preferred sample, the least congested, or any of `living` if there is none; the destination is in use
    /// from now on.
    #[inline(always)]
    pub(super) fn choose<E: Env>(
        &mut self,
        preference: Preference,
        living: &[u16],
        destination: u32,
        env: &mut E,
    ) -> u16 {
        let mut least = Least::default();
        let (now_ns, mut asked_ns) = (env.now_ns(), 0);
        if let Some((entry, held, _)) = self.row(destination) {
            entry.touch(now_ns);
            asked_ns = entry.held_ns;
            let read = if preference == Preference::Ignored { 0 } else { entry.held };
            for sample in held.iter().take(read.into()) {
                if env.up(sample.path) {
                    let is_most = preference == Preference::Most;
                    least.offer(sample.path, if is_most { !sample.backlog } else { sample.backlog }, env);
                }
            }
        }
        let sampled = least.member();
        if sampled.is_some() {
            self.counts.sampled += 1;
            self.counts.age_ns = self.counts.age_ns.saturating_add(now_ns.saturating_sub(asked_ns));
        } else {
            self.counts.random += 1;
        }
        sampled.unwrap_or_else(|| {
            let any = uniform::index(env.random_u32(), living.len());
            living.get(any).copied().unwrap_or(0)
        })
    }

    /// Reports to `send` the paths to probe now, if it is time, and returns when to ask again, in nanoseconds; `None`
    /// while the destination is not in use.
    pub fn ask<E: Env>(
        &mut self,
        parameters: &Parameters,
        living: &[u16],
        destination: u32,
        env: &mut E,
        mut send: impl FnMut(u16),
    ) -> Option<u64> {
        let now_ns = env.now_ns();
        let (entry, held, asked) = self.row(destination)?;
        if !entry.in_use {
            return None;
        }
        if now_ns.saturating_sub(entry.used_ns) >= parameters.idle_ns {
            *entry = Entry::default();
            return None;
        }
        if entry.asked > 0 {
            let patience_ns = entry.asked_ns.saturating_add(parameters.patience_ns);
            if now_ns < patience_ns {
                return Some(patience_ns);
            }
            take_over(parameters, entry, held, asked, now_ns);
        }
        if now_ns < entry.due_ns {
            return Some(entry.due_ns);
        }
        let best = match parameters.resample {
            Resample::Independent => None,
            Resample::KeepBest => {
                let mut least = Least::default();
                for sample in held.iter().take(entry.held.into()) {
                    least.offer(sample.path, sample.backlog, env);
                }
                least.member()
            }
        };
        if parameters.stale == Stale::Random {
            entry.held = 0;
        }
        entry.asked = draw(asked, parameters.samples, living, best, env);
        entry.answered = 0;
        entry.asked_ns = now_ns;
        entry.due_ns = now_ns.saturating_add(parameters.expiry_ns);
        for sample in asked.iter().take(entry.asked.into()) {
            send(sample.path);
        }
        Some(entry.due_ns)
    }

    /// Records the answer to a probe. The last answer of a round lets all its samples replace those before.
    pub(super) fn answered(&mut self, parameters: &Parameters, answer: &Answer, now_ns: u64) {
        let Some((entry, held, asked)) = self.row(answer.destination) else { return };
        if !entry.in_use {
            return;
        }
        let backlog = match parameters.step_bytes {
            0 => answer.backlog_bytes,
            step => probe::quantise(answer.backlog_bytes, step),
        };
        let sample = Sample { path: answer.path, answered: true, backlog };
        let round = asked.get_mut(..usize::from(entry.asked)).unwrap_or_default();
        if let Some(slot) = round.iter_mut().find(|slot| slot.path == answer.path) {
            entry.answered += u16::from(!slot.answered);
            *slot = sample;
            if entry.answered == entry.asked {
                take_over(parameters, entry, held, asked, now_ns);
            }
            return;
        }
        // Too late for its round, but better than no sample.
        let known = held.iter().take(entry.held.into()).any(|old| old.path == answer.path);
        if !known
            && entry.held < parameters.samples
            && let Some(slot) = held.get_mut(usize::from(entry.held))
        {
            *slot = sample;
            entry.held += 1;
        }
    }

    /// Drops all samples of paths that are not in `living`, those of the current round as well.
    pub fn purge(&mut self, parameters: &Parameters, destination: u32, living: &[u16], now_ns: u64) {
        let Some((entry, held, asked)) = self.row(destination) else { return };
        let lives = |sample: &Sample| living.binary_search(&sample.path).is_ok();
        entry.held = retain(held, entry.held, lives);
        if entry.asked > 0 {
            entry.asked = retain(asked, entry.asked, lives);
            entry.answered =
                asked.iter().take(entry.asked.into()).filter(|sample| sample.answered).count() as u16;
            if entry.answered == entry.asked {
                take_over(parameters, entry, held, asked, now_ns);
            }
        }
    }
}

/// Ends the round: its answered samples replace those to choose from.
///
/// The next round is due a period after this one was sent, so that there are as many probes as the paper's formula has.
/// If samples are dropped on expiry, the period begins with the answers: otherwise it would end before them if a round
/// trip takes as long.
fn take_over(parameters: &Parameters, entry: &mut Entry, held: &mut [Sample], asked: &[Sample], now_ns: u64) {
    if parameters.stale == Stale::Random && entry.answered > 0 {
        entry.due_ns = now_ns.saturating_add(parameters.expiry_ns);
    }
    (entry.held, entry.held_ns) = (0, entry.asked_ns);
    let answered = asked.iter().take(entry.asked.into()).filter(|sample| sample.answered);
    for (slot, sample) in held.iter_mut().zip(answered) {
        *slot = *sample;
        entry.held += 1;
    }
    (entry.asked, entry.answered) = (0, 0);
}

/// Keeps, in order, those of the first `len` samples that pass `keep`, and returns their number.
fn retain(samples: &mut [Sample], len: u16, keep: impl Fn(&Sample) -> bool) -> u16 {
    let mut kept = 0u16;
    for index in 0..usize::from(len) {
        if let Some(&sample) = samples.get(index)
            && keep(&sample)
            && let Some(slot) = samples.get_mut(usize::from(kept))
        {
            *slot = sample;
            kept += 1;
        }
    }
    kept
}

/// Puts `wanted` distinct paths of `living` into `round`, `first` before all if it is given, the others uniformly
/// (Floyd's algorithm: Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987). Returns their number.
fn draw<E: Env>(round: &mut [Sample], wanted: u16, living: &[u16], first: Option<u16>, env: &mut E) -> u16 {
    let unasked = |path: u16| Sample { path, ..Sample::default() };
    let kept = first.and_then(|path| living.binary_search(&path).ok());
    let mut filled = 0usize;
    if let Some(path) = kept.and_then(|at| living.get(at))
        && let Some(slot) = round.first_mut()
    {
        *slot = unasked(*path);
        filled = 1;
    }
    let others = living.len() - filled;
    let at = |index: usize| {
        let skipped = kept.is_some_and(|kept| index >= kept);
        living.get(index + usize::from(skipped)).copied().unwrap_or(0)
    };
    let drawn =
        usize::from(wanted).saturating_sub(filled).min(others).min(round.len().saturating_sub(filled));
    for last in others - drawn..others {
        let path = at(random_below(env, last as u32 + 1) as usize);
        let taken = round.iter().take(filled).any(|sample| sample.path == path);
        if let Some(slot) = round.get_mut(filled) {
            *slot = unasked(if taken { at(last) } else { path });
            filled += 1;
        }
    }
    filled as u16
}
