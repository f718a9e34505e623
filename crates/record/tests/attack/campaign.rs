//! Attack: scenarios by number, on all processors, until a number of them is tried or a time has passed.

use crate::broken::Broken;
use crate::draft::Draft;
use crate::trial::{EVENTS_MAX, Passed, Verdict};
use crate::{draw, panics, shrink, trial};
use anabranch_sim::Progress;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Number of kinds of failures after which an attack ends.
const KINDS_MAX: usize = 12;
/// Scenarios that were simulated on several threads too, as [`Report::ran`] names them.
pub(crate) const ON_THREADS: &str = "on several threads";

/// Scenarios of which messages were replayed, in the table of what ran.
pub(crate) const REPLAYED: &str = "with replay";
/// Time between two looks at the running trials.
const LOOK: Duration = Duration::from_millis(100);
/// Time after which a trial is shown while it runs: otherwise an endless loop would go unnoticed.
const LONG: Duration = Duration::from_secs(120);

/// Attack as the user asked for it.
#[derive(Clone, Debug)]
pub(crate) struct Attack {
    pub(crate) seed: u64,
    /// Number of the first scenario.
    pub(crate) first: u32,
    /// Largest number of scenarios.
    pub(crate) count: u32,
    /// Time after which no scenario begins.
    pub(crate) duration: Option<Duration>,
    /// Time between two lines of progress, if any.
    pub(crate) progress: Option<Duration>,
}

/// Result of an attack.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) passed: u64,
    pub(crate) events: u64,
    /// Longest time that a scenario took, and its number.
    pub(crate) slowest: (Duration, u32),
    /// Reasons of refusals, and how often each was given.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Number of scenarios that ran, by value of `kind` or `balance` with its table.
    pub(crate) ran: BTreeMap<String, u64>,
    /// Number of failures and the first scenario that failed, by invariant.
    pub(crate) broken: BTreeMap<String, (u64, u32, Draft, Broken)>,
}

/// Scenario that a thread tries at the moment.
struct Slot {
    progress: Arc<Progress>,
    number: u32,
    since: Instant,
    shown: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Folder that file names in scenarios are relative to: the repository.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Attack {
    /// Tries all scenarios, and shrinks those that failed.
    pub(crate) fn run(&self) -> Report {
        let begun = Instant::now();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let (next, report, over) = (AtomicU32::new(0), Mutex::new(Report::default()), AtomicBool::new(false));
        let slots: Vec<Mutex<Option<Slot>>> = (0..threads).map(|_| Mutex::new(None)).collect();
        thread::scope(|scope| {
            let watcher = scope.spawn(|| self.watch(begun, &slots, &report, &over));
            let workers: Vec<_> =
                slots.iter().map(|slot| scope.spawn(|| self.work(begun, &next, slot, &report))).collect();
            let ended: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            // Before a worker's panic goes on: the scope waits for the watcher too.
            over.store(true, Ordering::Relaxed);
            watcher.join().unwrap();
            for worker in ended {
                worker.unwrap();
            }
        });
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        // In a thread of its own: panics of this one are the test's.
        thread::scope(|scope| scope.spawn(|| report.shrink()).join().unwrap());
        report
    }

    fn work(&self, begun: Instant, next: &AtomicU32, slot: &Mutex<Option<Slot>>, report: &Mutex<Report>) {
        panics::keep();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = self.duration.is_some_and(|duration| begun.elapsed() > duration);
            if number >= self.count || late || lock(report).broken.len() >= KINDS_MAX {
                return;
            }
            let number = self.first.wrapping_add(number);
            let progress = Arc::new(Progress::default());
            let shown = false;
            let since = Instant::now();
            *lock(slot) = Some(Slot { progress: progress.clone(), number, since, shown });
            let (draft, verdict) = match panics::caught(|| draw::scenario(self.seed, number, &folder())) {
                Ok(draft) => {
                    let verdict = trial::run(&draft.to_toml(), &folder(), &progress);
                    (draft, verdict)
                }
                Err(broken) => (Draft::default(), Verdict::Broken(broken)),
            };
            *lock(slot) = None;
            let mut report = lock(report);
            report.slowest = report.slowest.max((since.elapsed(), number));
            report.note(number, draft, verdict);
        }
    }

    /// Ends runs that never would, and reports how far the attack is.
    fn watch(
        &self,
        begun: Instant,
        slots: &[Mutex<Option<Slot>>],
        report: &Mutex<Report>,
        over: &AtomicBool,
    ) {
        let mut told = Instant::now();
        while !over.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            for slot in slots {
                if let Some(slot) = &mut *lock(slot) {
                    if slot.progress.events() > EVENTS_MAX {
                        slot.progress.cancel();
                    }
                    if slot.since.elapsed() > LONG && !slot.shown {
                        slot.shown = true;
                        say(&format!("scenario {} of seed {} still runs", slot.number, self.seed));
                    }
                }
            }
            if self.progress.is_some_and(|every| told.elapsed() >= every) {
                told = Instant::now();
                say(&lock(report).line(begun.elapsed()));
            }
        }
    }
}

/// Prints at once, even if the test harness captures output.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "attack: {text}");
}

impl Report {
    /// Shrinks the scenario of every failure.
    fn shrink(&mut self) {
        panics::keep();
        for (invariant, (_, _, draft, broken)) in &mut self.broken {
            *draft = shrink::shrink(draft.clone(), invariant, &folder());
            if let Verdict::Broken(smaller) = trial::run(&draft.to_toml(), &folder(), &Progress::default()) {
                *broken = smaller;
            }
        }
    }

    fn note(&mut self, number: u32, draft: Draft, verdict: Verdict) {
        match verdict {
            Verdict::Refused(reason) => *self.refused.entry(reason).or_default() += 1,
            Verdict::Passed(Passed { events, calm, on_threads, replayed, .. }) => {
                self.passed += 1;
                self.events += events;
                self.count(&draft, calm);
                *self.ran.entry(ON_THREADS.to_owned()).or_default() += u64::from(on_threads);
                *self.ran.entry(REPLAYED.to_owned()).or_default() += u64::from(replayed);
            }
            Verdict::Broken(broken) => {
                if !self.broken.contains_key(&broken.invariant) {
                    say(&format!("scenario {number} broke an invariant: {broken}"));
                }
                let (times, first, smallest, what) = self
                    .broken
                    .entry(broken.invariant.clone())
                    .or_insert_with(|| (0, number, draft.clone(), broken.clone()));
                *times += 1;
                if number < *first {
                    (*first, *smallest, *what) = (number, draft, broken);
                }
            }
        }
    }

    fn count(&mut self, draft: &Draft, calm: bool) {
        for (header, key) in
            [("[fabric]", "kind"), ("[routing]", "balance"), ("[transport]", "kind"), ("[[traffic]]", "kind")]
        {
            let value = draft.table(header).and_then(|table| table.get(key)).unwrap_or("\"poisson\"");
            let name = format!("{} {}", header.trim_matches(['[', ']']), value.trim_matches('"'));
            if calm {
                *self.ran.entry(format!("calm, {name}")).or_default() += 1;
            }
            *self.ran.entry(name).or_default() += 1;
        }
        for change in draft.tables.iter().filter(|table| table.header == "[[change]]") {
            if let Some((effect, _)) = change.keys.last() {
                *self.ran.entry(format!("change {effect}")).or_default() += 1;
            }
        }
    }

    /// One line of progress.
    pub(crate) fn line(&self, after: Duration) -> String {
        let (refused, broken): (u64, u64) =
            (self.refused.values().sum(), self.broken.values().map(|(times, ..)| times).sum());
        let tried = self.passed + refused + broken;
        format!(
            "{tried} scenarios in {:.0} s ({:.0} a second), {} events, {refused} refused, {broken} failed in {} ways; \
             slowest: scenario {} in {:.1} s",
            after.as_secs_f64(),
            tried as f64 / after.as_secs_f64().max(0.001),
            self.events,
            self.broken.len(),
            self.slowest.1,
            self.slowest.0.as_secs_f64(),
        )
    }

    /// Lists every failure: the invariant, the seed and number, and the scenario.
    pub(crate) fn failures(&self, seed: u64) -> String {
        let mut text = String::new();
        for (times, number, draft, broken) in self.broken.values() {
            let _ = writeln!(
                text,
                "\nBROKEN {times} times, first by scenario {number} of seed {seed}: {broken}\n\
                 # ---- smallest scenario found, for `anabranch run` in the repository's folder ----\n{}# ----",
                draft.to_toml()
            );
        }
        text
    }
}
