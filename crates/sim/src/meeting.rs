//! Meetings of threads: each brings what it knows, and when all have come each has what the others brought.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{available_parallelism, yield_now};
use std::time::{Duration, Instant};

/// Time for which a thread that waits keeps its core; afterwards others may have it.
const SPIN: Duration = Duration::from_micros(2);

/// Looks at the clock while spinning: one of so many rounds.
const ROUNDS: u32 = 64;

/// Barrier at which threads wait for each other by spinning.
struct Barrier {
    threads: usize,
    /// Whether a thread that waits may keep its core for a moment.
    spins: bool,
    arrived: AtomicUsize,
    meetings: AtomicUsize,
    /// Whether a thread has left, so that nobody need wait for it.
    left: AtomicBool,
}

impl Barrier {
    /// Whether each thread can have a core of its own.
    fn has_cores(threads: usize) -> bool {
        available_parallelism().is_ok_and(|cores| cores.get() >= threads)
    }

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
            if !self.spins
                || rounds.is_multiple_of(ROUNDS) && begun.get_or_insert_with(Instant::now).elapsed() > SPIN
            {
                yield_now();
            } else {
                spin_loop();
            }
        }
        true
    }
}

/// Board of a thread at a meeting: a report for all, and letters for each.
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
                spins: Barrier::has_cores(threads),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// Each thread reads what all brought to this meeting, and each letter once, in the order of those who wrote.
    #[test]
    fn all_read_what_all_bring() {
        for threads in [1, 2, 3] {
            let meetings = Meetings::<u64, (usize, u64)>::new(threads);
            thread::scope(|scope| {
                for number in 0..threads {
                    let mut seat = meetings.seat(number);
                    scope.spawn(move || {
                        for round in 0..2000 {
                            let mut letters: Vec<Vec<_>> = vec![Vec::new(); threads];
                            // Not to everyone each time.
                            for to in (0..threads).filter(|to| !(round + *to as u64).is_multiple_of(3)) {
                                letters[to].extend([(number, round), (number, round + 1)]);
                            }
                            let mut read = Vec::new();
                            let reports =
                                seat.meet(10 * round + number as u64, &mut letters, |one| read.push(one));
                            let expected: Vec<u64> =
                                (0..threads as u64).map(|from| 10 * round + from).collect();
                            assert_eq!(reports, Some(&expected[..]));
                            let written = !(round + number as u64).is_multiple_of(3);
                            let senders = if written { threads } else { 0 };
                            let all: Vec<_> =
                                (0..senders).flat_map(|from| [(from, round), (from, round + 1)]).collect();
                            assert_eq!(read, all);
                        }
                    });
                }
            });
        }
    }

    #[test]
    fn nobody_waits_for_one_who_has_left() {
        let meetings = Meetings::<u64, ()>::new(2);
        thread::scope(|scope| {
            let (mut first, second) = (meetings.seat(0), meetings.seat(1));
            let waiting =
                scope.spawn(move || first.meet(1, &mut [Vec::new(), Vec::new()], |()| ()).is_none());
            drop(second);
            assert!(waiting.join().unwrap());
        });
    }
}
