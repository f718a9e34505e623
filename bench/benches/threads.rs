//! Picks of two threads on one group against those of one, and the time until an update is seen while four threads pick.
//!
//! Ratios are of one run: rounds of all settings take turns, and the median round counts. Rates are picks a second of
//! each thread's processor time, summed over the threads, so that other programs do not count: no pick here waits.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use anabranch_bench::{FLOWS, flow_keys, group, processor_time};
use anabranch_split::{Batch, Group, Members, Parameters, PlanError, Weights};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const ROUND: Duration = Duration::from_millis(100);
const ROUNDS: usize = 11;
const UPDATES: usize = 1_000;

/// Picks in a batch of a thread: many times those between two looks at the plan.
const BATCH: usize = 1 << 16;

fn main() -> Result<(), PlanError> {
    let keys = flow_keys(FLOWS);
    println!(
        "{:<16} {:<7} {:>10} {:>14} {:>15}",
        "technique", "picks", "one, M/s", "two on one", "two on two"
    );
    for technique in ["min-move", "maglev", "valo", "log-rendezvous"] {
        let groups = [(); 2].map(|()| Group::new(technique, &group(8)?, &Parameters::default()));
        let [first, second] = groups;
        let (first, second) = (first?, second?);
        for batches in [true, false] {
            let mut rates = [const { Vec::new() }; 3];
            for _ in 0..ROUNDS {
                rates[0].push(rate(&[&first], &keys, batches));
                rates[1].push(rate(&[&first, &first], &keys, batches));
                rates[2].push(rate(&[&first, &second], &keys, batches));
            }
            let [one, shared, apart] = rates.map(median);
            let how = if batches { "batch" } else { "single" };
            println!(
                "{technique:<16} {how:<7} {:>10.0} {:>14.2} {:>15.2}",
                one / 1e6,
                shared / one,
                apart / one
            );
        }
    }
    println!("{:<16} {:<7} {:>10.0}", "array index", "single", median(index_rates(&keys)) / 1e6);
    println!(
        "\n{:<16} {:>9} {:>9} {:>9} {:>9}   (until seen, us)",
        "technique", "median", "p95", "p99", "worst"
    );
    for technique in ["min-move", "maglev", "valo", "log-rendezvous"] {
        let mut times = visible(technique, &keys)?;
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1e3;
        println!("{technique:<16} {:>9.1} {:>9.1} {:>9.1} {:>9.1}", at(0.5), at(0.95), at(0.99), at(1.0));
    }
    Ok(())
}

/// Loads a second of processor time from an array in the cache, by the low bits of each key: what a pick by a table costs
/// at least.
fn index_rates(keys: &[u64]) -> Vec<f64> {
    let array: Box<[u8]> = (0..1 << 16).map(|slot| slot as u8).collect();
    let mut out = vec![0; BATCH];
    let round = |_| {
        let (began, mut count) = (processor_time(), 0u32);
        let started = Instant::now();
        for keys in keys.chunks(BATCH).cycle() {
            if started.elapsed() > ROUND {
                break;
            }
            let array = black_box(&array);
            keys.iter().zip(&mut out).for_each(|(&key, out)| *out = u16::from(array[key as usize & 0xffff]));
            black_box(&mut out);
            count += keys.len() as u32;
        }
        f64::from(count) / (processor_time() - began).as_secs_f64()
    };
    (0..ROUNDS).map(round).collect()
}

/// Longest time that all updates may take.
const DEADLINE: Duration = Duration::from_secs(600);

/// Picks a second of processor time, one thread for each of `groups`, summed.
fn rate(groups: &[&Group], keys: &[u64], batches: bool) -> f64 {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let done = &done;
        let threads = groups.iter().map(|&group| {
            scope.spawn(move || {
                let (mut out, mut reader, mut count) = (vec![0; BATCH], group.reader(), 0u32);
                for keys in keys.chunks(BATCH).cycle() {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    if batches {
                        group.pick_batch(&Batch::of_flows(keys), &mut out);
                    } else {
                        keys.iter().zip(&mut out).for_each(|(&key, out)| *out = reader.pick(key));
                    }
                    black_box(&mut out);
                    count += keys.len() as u32;
                }
                f64::from(count) / processor_time().as_secs_f64()
            })
        });
        let threads = threads.collect::<Vec<_>>();
        thread::sleep(ROUND);
        done.store(true, Ordering::Relaxed);
        threads.into_iter().map(|thread| thread.join().unwrap_or(f64::NAN)).sum()
    })
}

/// Nanoseconds from the call of each update until the first of four threads has a batch of its plan. Each plan has one
/// member up, so that a batch says which plan it is of; it comes back after as many updates as there are members.
fn visible(technique: &str, keys: &[u64]) -> Result<Vec<u64>, PlanError> {
    const MEMBERS: usize = 250;
    let weights = Weights::new(vec![1; MEMBERS])?;
    let only = |member: usize| Members::new(weights.clone(), (0..MEMBERS).map(|i| i == member).collect());
    let group = Group::new(technique, &only(0)?, &Parameters::default())?;
    let seen = [const { AtomicU64::new(0) }; MEMBERS];
    let (began, done) = (Instant::now(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut out = vec![0; BATCH];
                while !done.load(Ordering::Relaxed) {
                    group.pick_batch(&Batch::of_flows(&keys[..BATCH]), &mut out);
                    let now = began.elapsed().as_nanos() as u64;
                    // The first who sees it.
                    let _ = seen[usize::from(out[BATCH - 1])].compare_exchange(
                        0,
                        now,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                }
            });
        }
        let update = |number: usize| {
            thread::sleep(Duration::from_millis(2));
            let member = number % MEMBERS;
            let next = only(member)?;
            seen[member].store(0, Ordering::Relaxed);
            let called = began.elapsed().as_nanos() as u64;
            group.update(&next)?;
            let at = loop {
                match seen[member].load(Ordering::Relaxed) {
                    0 if began.elapsed() > DEADLINE => {
                        return Err(PlanError::new(
                            "an update is not seen".to_owned(),
                            "look at `Group::update`",
                        ));
                    }
                    0 => thread::yield_now(),
                    at => break at,
                }
            };
            Ok(at - called)
        };
        let times = (1..=UPDATES).map(update).collect();
        done.store(true, Ordering::Relaxed);
        times
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
