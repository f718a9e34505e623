//! Meetings of threads: each brings what it knows, and when all have come each has what the others brought.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::yield_now;
use std::time::{Duration, Instant};

/// Time for which a thread that waits keeps its core; afterwards others may have it.
const SPIN: Duration = Duration::from_micros(2);

/// Looks at the clock while spinning: one of so many rounds.
const ROUNDS: u32 = 64;

/// Barrier at which threads wait for each other by spinning.
struct Barrier {
    threads: usize,
    arrived: AtomicUsize,
    meetings: AtomicUsize,
    /// Whether a thread has left, so that nobody need wait for it.
    left: AtomicBool,
}

impl Barrier {
    /// Waits until all have come. Says whether they have.
    fn wait(&self) -> bool {
        let meeting = self.meetings.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.meetings.store(meeting.wrapping_add(1), Ordering::Release);
            return true;
        }
        let (mut rounds, mut begun) = (0u32, None);
        while self.meetings.load(Ordering::Acquire) == meeting {
            if self.left.load(Ordering::Acquire) {
                // It may have left after this very meeting.
                return self.meetings.load(Ordering::Acquire) != meeting;
            }
            rounds += 1;
            if rounds.is_multiple_of(ROUNDS) && begun.get_or_insert_with(Instant::now).elapsed() > SPIN {
                yield_now();
            } else {
                spin_loop();
            }
        }
        true
    }
}

/// What a thread brings to a meeting: a report for all, and letters for each.
struct Board<R, L> {
    report: Mutex<R>,
    letters: Vec<Mutex<Vec<L>>>,
}

/// Meetings of some threads. Boards are two each: while some still read those of one meeting, others write those of the next,
/// and nobody can be two meetings ahead.
pub(crate) struct Meetings<R, L> {
    barrier: Barrier,
    boards: [Vec<Board<R, L>>; 2],
}

impl<R: Clone + Default, L> Meetings<R, L> {
    pub(crate) fn new(threads: usize) -> Self {
        let board =
            || Board { report: Mutex::default(), letters: (0..threads).map(|_| Mutex::default()).collect() };
        let boards = || (0..threads).map(|_| board()).collect();
        Self {
            barrier: Barrier {
                threads,
                arrived: AtomicUsize::new(0),
                meetings: AtomicUsize::new(0),
                left: AtomicBool::new(false),
            },
            boards: [boards(), boards()],
        }
    }

    /// A seat of a thread, by its number.
    pub(crate) fn seat(&self, number: usize) -> Seat<'_, R, L> {
        let reports = vec![R::default(); self.barrier.threads];
        Seat { meetings: self, number, parity: false, reports, letters: Vec::new() }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread at its meetings.
pub(crate) struct Seat<'a, R: Clone + Default, L> {
    meetings: &'a Meetings<R, L>,
    number: usize,
    parity: bool,
    /// Reports of the last meeting, by thread.
    reports: Vec<R>,
    /// Room for letters.
    letters: Vec<L>,
}

impl<R: Clone + Default, L> Seat<'_, R, L> {
    /// Meets the others: brings a report and letters, by thread, and passes those of the others to `read`, by thread and in
    /// their order. Returns all reports, or nothing if a thread has left.
    pub(crate) fn meet(
        &mut self,
        report: R,
        letters: &mut [Vec<L>],
        mut read: impl FnMut(L),
    ) -> Option<&[R]> {
        let boards = &self.meetings.boards[usize::from(self.parity)];
        self.parity = !self.parity;
        let own = &boards[self.number];
        *lock(&own.report) = report;
        for (letters, slot) in letters.iter_mut().zip(&own.letters).filter(|(letters, _)| !letters.is_empty())
        {
            std::mem::swap(letters, &mut *lock(slot));
        }
        if !self.meetings.barrier.wait() {
            return None;
        }
        for (board, report) in boards.iter().zip(&mut self.reports) {
            report.clone_from(&lock(&board.report));
            std::mem::swap(&mut self.letters, &mut *lock(&board.letters[self.number]));
            self.letters.drain(..).for_each(&mut read);
        }
        Some(&self.reports)
    }
}

impl<R: Clone + Default, L> Drop for Seat<'_, R, L> {
    fn drop(&mut self) {
        self.meetings.barrier.left.store(true, Ordering::Release);
    }
}
