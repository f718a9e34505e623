//! Interleavings of threads that meet, or look at the progress of another, by loom: the modules themselves over loom's
//! primitives. Loom tries all orders of their steps, and all values that a load may see by its ordering.

use crate::PortRecord;
use loom::thread;
use std::sync::Arc;

#[path = "../meeting.rs"]
#[expect(clippy::duplicate_mod, reason = "over other primitives")]
mod meeting;
#[path = "../progress.rs"]
#[expect(clippy::duplicate_mod, reason = "the same")]
#[expect(dead_code, unreachable_pub, reason = "it is for the engine and its callers")]
mod progress;

/// Stands for `src/sync.rs`.
mod sync {
    use loom::cell::UnsafeCell;
    pub(super) use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
    pub(super) use loom::sync::{Mutex, MutexGuard};

    pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        mutex.lock().unwrap()
    }

    /// Without a lock: loom reports two accesses, one of which writes, that nothing has put in order.
    #[derive(Default)]
    pub(super) struct Slot<T>(UnsafeCell<T>);

    // SAFETY: loom runs one thread at a time.
    unsafe impl<T: Send> Sync for Slot<T> {}

    impl<T> Slot<T> {
        pub(super) fn read<A>(&self, use_it: impl FnOnce(&T) -> A) -> A {
            // SAFETY: loom has looked whether another thread may write.
            self.0.with(|value| use_it(unsafe { &*value }))
        }

        pub(super) fn write<A>(&self, use_it: impl FnOnce(&mut T) -> A) -> A {
            // SAFETY: loom has looked whether another thread may read or write.
            self.0.with_mut(|value| use_it(unsafe { &mut *value }))
        }
    }

    pub(super) fn have_cores(_threads: usize) -> bool {
        true
    }

    /// Pauses of one wait after which loom need not try all that can come next: looks in vain change nothing.
    const PAUSES: u32 = 2;

    pub(super) struct Wait(u32);

    impl Wait {
        pub(super) fn new(_keeps_core: bool) -> Self {
            Self(0)
        }

        /// Lets all others go on first. One who waits for ever has more steps than loom allows.
        pub(super) fn pause(&mut self) {
            self.0 += 1;
            if self.0 == PAUSES {
                loom::skip_branch();
            }
            loom::thread::yield_now();
        }
    }
}

use meeting::{Meetings, Seat};
use progress::Progress;

/// Reports are numbers; a letter has its writer and a number.
type Numbers = Meetings<u64, (usize, u64)>;

/// Runs `model` in every interleaving with up to so many preemptions.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Runs `part` with the seat of each of `threads` threads, the first in this one.
fn together(threads: usize, part: impl Fn(usize, Seat<'_, u64, (usize, u64)>) + Copy + Send + 'static) {
    let meetings = Arc::new(Numbers::new(threads));
    let others: Vec<_> = (1..threads)
        .map(|number| {
            let meetings = Arc::clone(&meetings);
            thread::spawn(move || part(number, meetings.seat(number)))
        })
        .collect();
    part(0, meetings.seat(0));
    others.into_iter().for_each(|other| other.join().unwrap());
}

/// Number that a thread brings to a meeting.
fn brought(number: usize, round: u64) -> u64 {
    10 * round + number as u64
}

/// Windows of parts: each brings a report and letters to all, and sees what all have brought, and no more.
fn windows(threads: usize, rounds: u64, preemptions: usize) {
    explore(preemptions, move || {
        together(threads, move |number, mut seat| {
            for round in 1..=rounds {
                let mut letters: Vec<_> = (0..threads).map(|_| vec![(number, round)]).collect();
                let mut read = Vec::new();
                let reports = seat.meet(brought(number, round), &mut letters, |letter| read.push(letter));
                let expected: Vec<_> = (0..threads).map(|from| brought(from, round)).collect();
                assert_eq!(reports, Some(&expected[..]));
                assert_eq!(read, (0..threads).map(|from| (from, round)).collect::<Vec<_>>());
                assert!(letters.iter().all(Vec::is_empty), "a letter came back");
            }
        });
    });
}

#[test]
fn two_threads_see_what_both_bring_to_each_of_four_meetings() {
    windows(2, 4, 6);
}

#[test]
fn three_threads_see_what_all_bring_to_each_of_three_meetings() {
    windows(3, 3, 3);
}

/// A part that ends by an error leaves before its second meeting: the others have had the first, and wait for no other.
fn one_leaves(threads: usize, preemptions: usize) {
    explore(preemptions, move || {
        together(threads, move |number, mut seat| {
            let mut letters = vec![Vec::new(); threads];
            assert!(seat.meet(1, &mut letters, |_| ()).is_some(), "the first meeting is held");
            if number > 0 {
                assert!(seat.meet(2, &mut letters, |_| ()).is_none(), "one has left");
            }
        });
    });
}

#[test]
fn the_other_thread_waits_for_nobody_who_has_left() {
    one_leaves(2, 6);
}

#[test]
fn two_other_threads_wait_for_nobody_who_has_left() {
    one_leaves(3, 3);
}

/// Somebody asks for the end meanwhile: all leave after the same meeting, whichever it is.
#[test]
fn all_threads_end_with_the_meeting_that_is_cancelled() {
    explore(3, || {
        let progress = Arc::new(Progress::default());
        let meetings = Arc::new(Numbers::new(2));
        let run = |number: usize| {
            let (progress, meetings) = (Arc::clone(&progress), Arc::clone(&meetings));
            move || {
                let mut seat = meetings.seat(number);
                let mut letters = vec![Vec::new(); 2];
                (0..3).find(|_| {
                    let asked = u64::from(number == 0 && progress.is_cancelled());
                    let reports = seat.meet(asked, &mut letters, |_| ()).expect("nobody leaves alone");
                    reports.iter().sum::<u64>() > 0
                })
            }
        };
        let others = [thread::spawn(run(0)), thread::spawn(run(1))];
        progress.cancel();
        let [first, second] = others.map(|other| other.join().unwrap());
        assert_eq!(first, second);
    });
}

/// A reader takes records of ports while the engine offers them: each once, in their order, and none that is left out
/// between two.
#[test]
fn a_reader_takes_each_record_of_a_port_once() {
    explore(3, || {
        let progress = Arc::new(Progress::default());
        let reader = Arc::clone(&progress);
        let engine = thread::spawn(move || {
            let records: Vec<_> =
                (0..3).map(|start_ps| PortRecord { start_ps, ..PortRecord::default() }).collect();
            let mut copied = 0;
            for ended in 1..=records.len() {
                copied = progress.offer_ports(&records[..ended], copied);
            }
            copied
        });
        let mut taken: Vec<_> = reader.take_ports();
        taken.extend(reader.take_ports());
        let copied = engine.join().unwrap();
        taken.extend(reader.take_ports());
        let starts: Vec<_> = taken.iter().map(|record| record.start_ps as usize).collect();
        assert_eq!(starts, (0..copied).collect::<Vec<_>>());
    });
}
