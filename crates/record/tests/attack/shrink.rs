//! Search for a smaller scenario that breaks the same invariant: leaves out tables and keys and makes numbers smaller.

use crate::draft::Draft;
use crate::trial;
use crate::trial::Verdict;
use anabranch_sim::Progress;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Largest number of trials for one failure.
const TRIALS_MAX: u32 = 600;

/// Number of events after which a trial is given up: a key that is left out may have kept a scenario small.
const EVENTS_MAX: u64 = 100_000;

/// The smallest scenario found that breaks `invariant`.
pub(crate) fn shrink(draft: Draft, invariant: &str, folder: &Path) -> Draft {
    let current = Mutex::new(Arc::new(Progress::default()));
    let lock = || current.lock().unwrap_or_else(PoisonError::into_inner);
    let (over, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(Duration::from_millis(5)) {
                let progress = lock().clone();
                if progress.events() > EVENTS_MAX {
                    progress.cancel();
                }
            }
        });
        let mut left = TRIALS_MAX;
        let breaks = |draft: &Draft| {
            left = left.saturating_sub(1);
            let progress = Arc::new(Progress::default());
            *lock() = progress.clone();
            let verdict = trial::run(&draft.to_toml(), folder, &progress);
            left > 0 && matches!(verdict, Verdict::Broken(broken) if broken.invariant == invariant)
        };
        let smallest = smallest(draft, breaks);
        drop(over);
        smallest
    })
}

fn smallest(mut best: Draft, mut breaks: impl FnMut(&Draft) -> bool) -> Draft {
    loop {
        let mut smaller = false;
        for candidates in [without_tables, without_keys, with_smaller_numbers] {
            let mut number = 0;
            loop {
                let candidate = candidates(&best).nth(number);
                let Some(candidate) = candidate else { break };
                if breaks(&candidate) {
                    best = candidate;
                    smaller = true;
                } else {
                    number += 1;
                }
            }
        }
        if !smaller {
            return best;
        }
    }
}

type Candidates<'a> = Box<dyn Iterator<Item = Draft> + 'a>;

fn without_tables(draft: &Draft) -> Candidates<'_> {
    Box::new((0..draft.tables.len()).rev().map(|table| {
        let mut smaller = draft.clone();
        smaller.tables.remove(table);
        smaller
    }))
}

/// Lists every key of a draft, by its table and its position in it.
fn keys(draft: &Draft) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..draft.tables.len()).flat_map(|table| (0..draft.tables[table].keys.len()).map(move |key| (table, key)))
}

fn without_keys(draft: &Draft) -> Candidates<'_> {
    Box::new(keys(draft).map(|(table, key)| {
        let mut smaller = draft.clone();
        smaller.tables[table].keys.remove(key);
        smaller
    }))
}

/// Lists drafts with whole numbers, and the numbers of quantities, set to 1 and halved.
fn with_smaller_numbers(draft: &Draft) -> Candidates<'_> {
    Box::new(keys(draft).flat_map(move |(table, key)| {
        let value = draft.tables[table].keys[key].1.clone();
        let digits: String = value.trim_start_matches('"').chars().take_while(char::is_ascii_digit).collect();
        let number: u64 = digits.parse().unwrap_or(0);
        let mut numbers = vec![1, number / 10, number / 2];
        numbers.retain(|&smaller| smaller > 0 && smaller < number);
        numbers.dedup();
        numbers.into_iter().map(move |number| {
            let mut smaller = draft.clone();
            smaller.tables[table].keys[key].1 = value.replacen(&digits, &number.to_string(), 1);
            smaller
        })
    }))
}
