//! Decisions of Clove; its rule and where it differs from the paper stand on `page.md`.

use anabranch_split::picks::dre::Estimator;
use anabranch_split::picks::least::Least;
use anabranch_split::picks::score::Entry;
use anabranch_split::picks::scored::Scored;
use anabranch_split::picks::{Flows, Packet, Pick};
use anabranch_split::{Env, capability};
use core::marker::PhantomData;

/// Flowlets over weighted paths (members); flows in `M`, paths in `C`, entries of scores in `G`.
pub struct Clove<M, C, G>(PhantomData<(M, C, G)>);

/// Rule by which a new flowlet gets its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Selection {
    /// Smooth weighted round robin on the weights: the path that is most behind its share.
    #[default]
    Turns,
    /// Weighted round robin as the VALO paper (section 2.2.2) and its artefact have it: a table in blocks, whose position
    /// and known flowlets are forgotten when a weight changes.
    Blocks,
    /// Random path in proportion to the weights, as in a public ns-3 model.
    Random,
    /// Path whose most utilised link is least utilised, as last relayed: Clove-INT.
    LeastUtilised,
    /// Path with the highest score by (flow, number of the flowlet) over the gravities of the weights: Clove+VALO.
    Score,
}

/// Parameters of Clove.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Rule by which a new flowlet gets its path.
    pub selection: Selection,
    /// Longest pause within a flowlet, in nanoseconds.
    pub gap_ns: u64,
    /// Shortest time between two cuts of one path's weight, in nanoseconds: half a round trip. It also bounds how often
    /// scores follow weights.
    pub interval_ns: u64,
    /// Part of its weight that a marked path loses, in millionths.
    pub cut_ppm: u32,
    /// Time for which a mark makes a path congested, in nanoseconds: meanwhile it inherits no weight.
    pub congested_ns: u64,
    /// Age at which a relayed utilisation counts as zero, in nanoseconds, so that the path is tried again.
    pub ageing_ns: u64,
    /// Period of the estimators of the switches, in nanoseconds.
    pub period_ns: u64,
    /// Fraction that the estimators lose each period, at least 1/32.
    pub alpha: f64,
}

impl Parameters {
    /// Estimator by which switches measure the utilisation of links.
    #[must_use]
    pub const fn estimator(&self) -> Estimator {
        Estimator { period_ns: self.period_ns, alpha: Estimator::alpha(self.alpha), level_bits: 7 }
    }
}

const MILLION: u32 = 1_000_000;

impl Default for Parameters {
    fn default() -> Self {
        Self {
            selection: Selection::Turns,
            gap_ns: 150_000,
            interval_ns: 40_000,
            cut_ppm: 333_333,
            congested_ns: 80_000,
            ageing_ns: 10_000_000,
            period_ns: 30_000,
            alpha: 0.2,
        }
    }
}

/// Weight of one.
pub const ONE: u32 = 1 << 24;

/// State of one path.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Weight in units of 1 / [`ONE`]. While no path is dead, all weights sum to exactly the number of paths.
    pub weight: u32,
    /// Credit of the path in smooth weighted round robin; of blocks, the flowlets that it got of this round.
    credit: i64,
    /// Time of the last cut by a mark.
    cut_ns: Option<u64>,
    /// Time at which the utilisation was relayed.
    heard_ns: Option<u64>,
    /// Utilisation of the path's most utilised link, in the switches' own unit.
    utilisation: u8,
}

impl Default for Path {
    fn default() -> Self {
        Self { weight: ONE, credit: 0, cut_ns: None, heard_ns: None, utilisation: 0 }
    }
}

/// Note on a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Time of its last packet, in nanoseconds.
    pub last_ns: u64,
    /// Number of its flowlet.
    pub flowlet: u32,
}

/// Flows and paths towards one destination.
#[derive(Clone, Debug, Default)]
pub struct State<M, C, G> {
    /// Path and note of each flow.
    pub flows: M,
    /// State of each path.
    pub paths: C,
    /// Scores for [`Selection::Score`]: the control half makes their `entries`.
    pub scored: Scored<G>,
    /// Time of the last change of a weight under [`Selection::Blocks`]: older flowlets are forgotten.
    pub flushed_ns: Option<u64>,
}

/// News that the destination relays about the paths towards it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// A packet arrived by this path with congestion experienced.
    Marked(u16),
    /// A packet met links on a path; this is the utilisation of the most utilised one.
    Utilisation {
        /// Path of the packet.
        path: u16,
        /// Utilisation in the switches' own unit.
        level: u8,
    },
}

/// Number of table entries that are searched for forgotten flows with each new flowlet.
const SWEPT_PER_FLOWLET: usize = 8;
/// Number of gaps after which an idle flow is forgotten, and with it the number of its flowlet.
const GAPS_REMEMBERED: u64 = 64;
/// Entries of a path of weight one under [`Selection::Blocks`]: weights of the VALO paper are up to 100 for four paths.
const BLOCK: u64 = 25;

impl<M, C, G> Pick for Clove<M, C, G>
where
    M: Flows<Note = Note>,
    C: AsRef<[Path]> + AsMut<[Path]>,
    G: AsRef<[Entry]>,
{
    const NAME: &'static str = "clove";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::TAG | capability::FEEDBACK;
    type Plan = Parameters;
    type State = State<M, C, G>;
    type Feedback = Feedback;

    #[inline(always)]
    fn pick<E: Env>(plan: &Parameters, state: &mut State<M, C, G>, packet: &mut Packet, env: &mut E) -> u16 {
        let now_ns = env.now_ns();
        let State { flows, paths, scored, flushed_ns } = state;
        let mut began = false;
        let path = flows.upsert(packet.flow, |known| {
            if let Some((path, note)) = known
                && env.up(path)
                && now_ns.saturating_sub(note.last_ns) <= plan.gap_ns
                && flushed_ns.is_none_or(|flushed_ns| note.last_ns > flushed_ns)
            {
                return (path, Note { last_ns: now_ns, ..note });
            }
            began = true;
            let flowlet = known.map_or(0, |(_, note)| note.flowlet.wrapping_add(1));
            let paths = paths.as_mut();
            let path = match plan.selection {
                Selection::Turns => most_behind(paths, env),
                Selection::Blocks => next_entry(paths, env),
                Selection::Random => drawn(paths, env),
                Selection::LeastUtilised => least_utilised(paths, plan.ageing_ns, env),
                Selection::Score => {
                    scored.pick(packet.flow, flowlet).unwrap_or_else(|| most_behind(paths, env))
                }
            };
            (path, Note { last_ns: now_ns, flowlet })
        });
        if began {
            let patience_ns = plan.gap_ns.saturating_mul(GAPS_REMEMBERED);
            let forgotten = |_, note: &Note| now_ns.saturating_sub(note.last_ns) > patience_ns;
            flows.sweep(SWEPT_PER_FLOWLET, forgotten, |_| ());
        }
        path
    }

    fn learn<E: Env>(plan: &Parameters, state: &mut State<M, C, G>, feedback: &Feedback, env: &mut E) {
        let now_ns = env.now_ns();
        let paths = state.paths.as_mut();
        match *feedback {
            Feedback::Marked(path) => {
                if cut(plan, paths, path, env) {
                    state.scored.move_on();
                    if plan.selection == Selection::Blocks {
                        state.flushed_ns = Some(now_ns);
                        paths.iter_mut().for_each(|path| path.credit = 0);
                    }
                }
            }
            Feedback::Utilisation { path, level } => {
                if let Some(path) = paths.get_mut(usize::from(path)) {
                    path.heard_ns = Some(now_ns);
                    path.utilisation = level;
                }
            }
        }
    }

    /// Purges the flowlets of dead paths; a path that returns starts without knowledge and with a weight of one.
    fn port_changed<E: Env>(
        _plan: &Parameters,
        state: &mut State<M, C, G>,
        member: u16,
        up: bool,
        _env: &mut E,
    ) {
        if !up {
            state.flows.purge(member);
        }
        if let Some(path) = state.paths.as_mut().get_mut(usize::from(member)) {
            *path = Path::default();
        }
        state.scored.renew();
    }
}

/// Takes the cut from a marked path and spreads it evenly over the paths that were not marked lately, or over all
/// others if there is none. Returns whether any weight moved: none does within the interval, or without a path to
/// inherit.
fn cut<E: Env>(plan: &Parameters, paths: &mut [Path], marked: u16, env: &mut E) -> bool {
    let now_ns = env.now_ns();
    let since = |path: &Path| path.cut_ns.map_or(u64::MAX, |cut_ns| now_ns.saturating_sub(cut_ns));
    let Some(path) = paths.get_mut(usize::from(marked)) else { return false };
    if since(path) < plan.interval_ns {
        return false;
    }
    path.cut_ns = Some(now_ns);
    let removed = (u64::from(path.weight) * u64::from(plan.cut_ppm.min(MILLION)) / u64::from(MILLION)) as u32;
    let living = |member: u16| member != marked && env.up(member);
    let free = |(member, path): (u16, &Path)| living(member) && since(path) >= plan.congested_ns;
    let any_free = (0u16..).zip(paths.iter()).any(free);
    let inherits = |(member, path): (u16, &Path)| {
        if any_free { free((member, path)) } else { living(member) }
    };
    let heirs = (0u16..).zip(paths.iter()).filter(|&pair| inherits(pair)).count() as u32;
    let Some(share) = removed.checked_div(heirs) else { return false };
    // The units that do not divide go to the first, so that the sum stays.
    let mut odd = removed - share * heirs;
    for (member, path) in (0u16..).zip(paths.iter_mut()) {
        if member == marked {
            path.weight -= removed;
        } else if inherits((member, path)) {
            path.weight = path.weight.saturating_add(share + u32::from(odd > 0));
            odd = odd.saturating_sub(1);
        }
    }
    removed > 0
}

/// Smooth weighted round robin: every path earns its weight, the richest is picked and pays for all. Ties go to the
/// lowest index.
#[inline(always)]
fn most_behind<E: Env>(paths: &mut [Path], env: &E) -> u16 {
    let mut total = 0;
    let mut richest = (i64::MIN, 0u16);
    for (member, path) in (0..).zip(paths.iter_mut()).filter(|&(member, _)| env.up(member)) {
        path.credit += i64::from(path.weight);
        total += i64::from(path.weight);
        if path.credit > richest.0 {
            richest = (path.credit, member);
        }
    }
    if let Some(path) = paths.get_mut(usize::from(richest.1)) {
        path.credit -= total;
    }
    richest.1
}

/// Weighted round robin in blocks: the first path whose block is not used up, from the beginning once all are.
#[inline(always)]
fn next_entry<E: Env>(paths: &mut [Path], env: &E) -> u16 {
    for _ in 0..2 {
        for (member, path) in (0..).zip(paths.iter_mut()).filter(|&(member, _)| env.up(member)) {
            let block = (u64::from(path.weight) * BLOCK / u64::from(ONE)).max(1);
            if path.credit.unsigned_abs() < block {
                path.credit += 1;
                return member;
            }
        }
        paths.iter_mut().for_each(|path| path.credit = 0);
    }
    0
}

/// Draws a living path in proportion to its weight.
#[inline(always)]
fn drawn<E: Env>(paths: &[Path], env: &mut E) -> u16 {
    let bits = env.random_u32();
    let living = || (0u16..).zip(paths).filter(|&(member, _)| env.up(member));
    let total: u64 = living().map(|(_, path)| u64::from(path.weight)).sum();
    // At most 2^16 paths of 2^32: the product needs more than 64 bits.
    let mut left = ((u128::from(total) * u128::from(bits)) >> 32) as u64;
    let mut last = 0;
    for (member, path) in living() {
        last = member;
        match left.checked_sub(u64::from(path.weight)) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    last
}

/// Finds the living path with the least relayed utilisation, one of them at random; a path without recent news counts
/// as zero.
#[inline(always)]
fn least_utilised<E: Env>(paths: &[Path], ageing_ns: u64, env: &mut E) -> u16 {
    let now_ns = env.now_ns();
    let mut least = Least::default();
    for (member, path) in (0u16..).zip(paths) {
        if env.up(member) {
            let fresh = path.heard_ns.is_some_and(|heard_ns| now_ns.saturating_sub(heard_ns) <= ageing_ns);
            least.offer(member, if fresh { path.utilisation } else { 0 }, env);
        }
    }
    least.member().unwrap_or(0)
}
