//! Random attack: scenarios that nobody wrote, and invariants that every one must keep.
//!
//! `draw` writes scenarios as text, so that reading them is attacked too; `trial` runs one and holds it to the
//! invariants: packets accounted for and sums that agree (`counts`), no flow faster than its links (`bound`), every
//! stream arrives that has a path and the time (`arrival`), nothing is sent in vain where nothing fails (`calm`), an idle
//! job leaves no trace (`apart`), several threads have the bits of one (`threads`), two runs equal to the bit, nothing panics. It is compiled
//! with debug assertions and overflow checks, so that wrapping numbers panic. `cargo test` tries a fixed number of
//! scenarios of a fixed seed; `make attack` tries others, as many or as long as asked for.
//!
//! A program of its own, because it sets the hook that all panics of a process meet, and takes every processor.
#![allow(clippy::unwrap_used)] // A test may fail, its helpers too.

mod apart;
mod arrival;
mod bound;
mod broken;
mod calm;
mod campaign;
mod counts;
mod dice;
mod draft;
mod draw;
mod packet_events;
mod panics;
mod pinned;
mod replays;
mod shrink;
mod threads;
mod trial;

use anabranch_scenario::{BALANCE, catalogue};
use campaign::{Attack, say};
use std::env;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Number of scenarios of `cargo test`: about 30 s on two processors.
const COUNT: u32 = 10_000;
/// Largest share of them that may be refused, in hundredths: parameters that contradict each other, load balancers that
/// refuse a fabric by name.
const REFUSED_PERCENT_MAX: u64 = 12;

/// Largest share of them that may be given up, in thousandths: a change that makes runs endless breaks this.
const GIVEN_UP_PERMILLE_MAX: u64 = 5;

/// Least number of calm runs with RoCE, and with UEC: fewer would not find transports that fight themselves.
const CALM_MIN: u64 = 200;

/// Least number of scenarios that are simulated on several threads too.
const ON_THREADS_MIN: u64 = 1000;

/// Least number of scenarios of which messages are replayed.
const REPLAYED_MIN: u64 = 20;

/// Checks that the build checks numbers: only then are wrapping numbers found.
#[test]
fn the_build_checks_numbers() {
    let checked = std::thread::spawn(|| {
        panics::keep();
        let most = std::hint::black_box(u8::MAX);
        let added = panics::caught(|| most + std::hint::black_box(1));
        let asserted = panics::caught(|| debug_assert!(most == std::hint::black_box(0)));
        (added.is_err(), asserted.is_err())
    });
    let (overflow_checks, debug_assertions) = checked.join().unwrap();
    assert!(
        overflow_checks && debug_assertions,
        "build the attack with overflow-checks and debug-assertions"
    );
}

#[test]
fn no_random_scenario_breaks_an_invariant() {
    let attack = Attack { seed: 1, first: 0, count: COUNT, duration: None, progress: None };
    let report = attack.run();
    assert!(report.broken.is_empty(), "{}", report.failures(attack.seed));
    let refused: u64 = report.refused.values().sum();
    assert!(refused * 100 <= REFUSED_PERCENT_MAX * u64::from(COUNT), "refused: {:#?}", report.refused);
    let given_up = report.refused.get(trial::GIVEN_UP).copied().unwrap_or(0);
    assert!(
        given_up * 1000 <= GIVEN_UP_PERMILLE_MAX * u64::from(COUNT),
        "{given_up} scenarios were given up"
    );
    for kind in ["roce", "uec"] {
        let calm = report.ran.get(&format!("calm, transport {kind}")).copied().unwrap_or(0);
        assert!(calm >= CALM_MIN, "{calm} runs of {kind} were calm");
    }
    let on_threads = report.ran.get(campaign::ON_THREADS).copied().unwrap_or(0);
    assert!(on_threads >= ON_THREADS_MIN, "{on_threads} runs were compared with those of several threads");
    let replayed = report.ran.get(campaign::REPLAYED).copied().unwrap_or(0);
    assert!(replayed >= REPLAYED_MIN, "messages of {replayed} runs were replayed");
    for entry in catalogue().into_iter().filter(|entry| entry.key == BALANCE) {
        assert!(report.ran.contains_key(&format!("routing {}", entry.name)), "{} never ran", entry.name);
    }
}

/// Runs `make attack`: `ATTACK_SEED`, `ATTACK_FIRST`, `ATTACK_COUNT` and `ATTACK_MINUTES` choose the scenarios.
#[test]
#[ignore = "as long as asked for: make attack"]
fn on_demand() {
    let minutes: Option<f64> = asked("ATTACK_MINUTES");
    let count = asked("ATTACK_COUNT").unwrap_or(if minutes.is_some() { u32::MAX } else { COUNT });
    let attack = Attack {
        seed: asked("ATTACK_SEED").unwrap_or(1),
        first: asked("ATTACK_FIRST").unwrap_or(0),
        count,
        duration: minutes.map(|minutes| Duration::from_secs_f64(60.0 * minutes)),
        progress: Some(Duration::from_secs(10)),
    };
    say(&format!("{attack:?}"));
    let begun = Instant::now();
    let report = attack.run();
    for (what, times) in &report.ran {
        say(&format!("ran {times} times: {what}"));
    }
    for (reason, times) in &report.refused {
        say(&format!("refused {times} times: {reason}"));
    }
    say(&report.line(begun.elapsed()));
    assert!(report.broken.is_empty(), "{}", report.failures(attack.seed));
}

/// Value of an environment variable; `None` if it is empty.
fn asked<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{name}={text}: not a number; hint: {name}=7"),
    }
}
