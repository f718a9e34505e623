//! Delays of all paths to all destinations as probes measure them, and the flowlet timeout that follows (Algorithm 2).

use anabranch_split::picks::store::Store;
use anabranch_split::{Env, random_below};

/// Algorithm that finds the slowest and the fastest path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// Uses the latest delay of every path.
    #[default]
    Table,
    /// Uses two remembered extremes, as Algorithm 2 is printed. They go stale: the timeout can become negative.
    Literal,
}

/// Path that a flow is sent by, of those that are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Preference {
    /// The fastest.
    #[default]
    Fastest,
    /// The slowest (a mutation).
    Slowest,
}

/// Delays that the probes of one path measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    is_known: bool,
    latest_ns: i64,
    /// Shortest delay ever measured.
    base_ns: i64,
    heard_ns: u64,
}

/// Remembered extremes of Algorithm 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extremes {
    fastest: Option<(u16, i64)>,
    slowest: Option<(u16, i64)>,
}

impl Extremes {
    /// Lines 5 to 17: records that a probe of `path` took `delay_ns`.
    pub fn probe(&mut self, path: u16, delay_ns: i64) {
        let is = |extreme: Option<(u16, i64)>| extreme.is_some_and(|(known, _)| known == path);
        if is(self.fastest) {
            self.fastest = Some((path, delay_ns));
        } else if is(self.slowest) {
            self.slowest = Some((path, delay_ns));
        } else if self.fastest.is_none_or(|(_, least)| delay_ns < least) {
            self.fastest = Some((path, delay_ns));
        } else if self.slowest.is_none_or(|(_, most)| delay_ns > most) {
            self.slowest = Some((path, delay_ns));
        }
    }

    /// Line 19: slowest less fastest, even if it is negative; `None` before there are both.
    #[must_use]
    pub fn difference_ns(&self) -> Option<i64> {
        Some(self.slowest?.1.saturating_sub(self.fastest?.1))
    }

    /// Line 21: path of the next hop.
    #[must_use]
    pub fn preferred(&self, preference: Preference) -> Option<u16> {
        let extreme = match preference {
            Preference::Fastest => self.fastest,
            Preference::Slowest => self.slowest,
        };
        extreme.map(|(path, _)| path)
    }
}

/// State of one destination.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pair {
    extremes: Extremes,
    /// Difference of slowest and fastest at the last probe.
    difference_ns: Option<i64>,
}

/// Delay table and timeout table of one leaf.
pub struct Delays<S: Store> {
    pairs: S::Of<Pair>,
    /// Delays by destination, [`Self::slots`] each, then by path.
    delays: S::Of<Delay>,
    slots: u16,
    algorithm: Algorithm,
    preference: Preference,
    /// Age at which a delay expires.
    expiry_ns: u64,
}

impl<S: Store> Delays<S> {
    /// Makes tables of `pairs` destinations with `slots` paths each in `delays`; delays older than `expiry_ns` do not
    /// count.
    pub const fn new(
        pairs: S::Of<Pair>,
        delays: S::Of<Delay>,
        slots: u16,
        algorithm: Algorithm,
        preference: Preference,
        expiry_ns: u64,
    ) -> Self {
        Self { pairs, delays, slots, algorithm, preference, expiry_ns }
    }

    fn row(&self, destination: u32) -> &[Delay] {
        let first = destination as usize * usize::from(self.slots);
        self.delays.as_ref().get(first..first + usize::from(self.slots)).unwrap_or(&[])
    }

    /// Known delays of the living paths to `destination`, by path.
    fn known(&self, destination: u32, living: &[u16], now_ns: u64) -> impl Iterator<Item = (u16, &Delay)> {
        let (row, expiry_ns) = (self.row(destination), self.expiry_ns);
        living.iter().filter_map(move |&path| {
            let delay = row.get(usize::from(path))?;
            let believed = delay.is_known && now_ns.saturating_sub(delay.heard_ns) <= expiry_ns;
            believed.then_some((path, delay))
        })
    }

    /// Records that a probe along `path` to `destination` took `delay_ns`, which is negative if clocks differ.
    pub fn heard(&mut self, living: &[u16], destination: u32, path: u16, delay_ns: i64, now_ns: u64) {
        if path >= self.slots {
            return;
        }
        let slot = destination as usize * usize::from(self.slots) + usize::from(path);
        if let Some(delay) = self.delays.as_mut().get_mut(slot) {
            let base_ns = if delay.is_known { delay.base_ns.min(delay_ns) } else { delay_ns };
            *delay = Delay { is_known: true, latest_ns: delay_ns, base_ns, heard_ns: now_ns };
        }
        let bounds = self.known(destination, living, now_ns).fold(None, |bounds, (_, delay)| {
            let (least, most) = bounds.unwrap_or((delay.latest_ns, delay.latest_ns));
            Some((delay.latest_ns.min(least), delay.latest_ns.max(most)))
        });
        let algorithm = self.algorithm;
        if let Some(pair) = self.pairs.as_mut().get_mut(destination as usize) {
            pair.extremes.probe(path, delay_ns);
            pair.difference_ns = match algorithm {
                Algorithm::Table => bounds.map(|(least, most)| most.saturating_sub(least)),
                Algorithm::Literal => pair.extremes.difference_ns(),
            };
        }
    }

    /// Difference of the slowest and the fastest path to `destination`, in nanoseconds: the flowlet timeout before it
    /// is bounded. `None` before it is defined.
    #[inline(always)]
    #[must_use]
    pub fn difference_ns(&self, destination: u32) -> Option<i64> {
        self.pairs.as_ref().get(destination as usize)?.difference_ns
    }

    /// Preferred living path to `destination` of those that are `free`: the fastest. Paths within `tie_ns` of it are drawn
    /// at random; if it is zero, the lowest of equal ones wins.
    pub fn preferred<E: Env>(
        &self,
        living: &[u16],
        destination: u32,
        tie_ns: u64,
        now_ns: u64,
        free: impl Fn(u16, &mut E) -> bool,
        env: &mut E,
    ) -> Option<u16> {
        if self.algorithm == Algorithm::Literal {
            let recorded = self.pairs.as_ref().get(destination as usize)?.extremes.preferred(self.preference);
            return recorded.filter(|path| living.binary_search(path).is_ok() && free(*path, env));
        }
        let rank = |delay: &Delay| match self.preference {
            Preference::Fastest => delay.latest_ns,
            Preference::Slowest => delay.latest_ns.saturating_neg(),
        };
        let mut least: Option<i64> = None;
        for (path, delay) in self.known(destination, living, now_ns) {
            if least.is_none_or(|least| rank(delay) < least) && free(path, env) {
                least = Some(rank(delay));
            }
        }
        let bound = least?.saturating_add(i64::try_from(tie_ns).unwrap_or(i64::MAX));
        let mut chosen = None;
        let mut equals = 0;
        for (path, _) in self.known(destination, living, now_ns).filter(|(_, delay)| rank(delay) <= bound) {
            if !free(path, env) {
                continue;
            }
            equals += 1;
            if chosen.is_none() || (tie_ns > 0 && random_below(env, equals) == 0) {
                chosen = Some(path);
            }
        }
        chosen
    }

    /// Whether `path` takes longer than its shortest delay times `factor_milli` / 1000; a path with unknown delay does
    /// not.
    #[must_use]
    pub fn is_slow(&self, destination: u32, path: u16, factor_milli: u32, now_ns: u64) -> bool {
        self.known(destination, &[path], now_ns).any(|(_, delay)| {
            i128::from(delay.latest_ns) * 1000 > i128::from(delay.base_ns) * i128::from(factor_milli)
        })
    }

    /// Twice the delay of the slowest path to `destination`, in nanoseconds: an estimate of the round trip.
    #[must_use]
    pub fn round_trip_ns(&self, destination: u32, living: &[u16], now_ns: u64) -> Option<u64> {
        let most = self.known(destination, living, now_ns).map(|(_, delay)| delay.latest_ns).max()?;
        Some(u64::try_from(most).unwrap_or(0).saturating_mul(2))
    }
}
