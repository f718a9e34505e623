//! Meetings of threads: each brings what it knows, and when all have come each has what the others brought.

use super::sync::{AtomicBool, AtomicUsize, Ordering, Slot, Wait, have_cores};

/// Barrier at which threads wait for each other.
struct Barrier {
    threads: usize,
    /// Whether each thread can have a core of its own.
    have_cores: bool,
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
        let mut wait = Wait::new(self.have_cores);
        while self.meetings.load(Ordering::Acquire) == meeting {
            if self.left.load(Ordering::Acquire) {
                // It may have left after this very meeting.
                return self.meetings.load(Ordering::Acquire) != meeting;
            }
            wait.pause();
        }
        true
    }
}

/// Board of a thread at a meeting: a report for all, and letters for each.
struct Board<R, L> {
    report: Slot<R>,
    letters: Vec<Slot<Vec<L>>>,
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
            || Board { report: Slot::default(), letters: (0..threads).map(|_| Slot::default()).collect() };
        let boards = || (0..threads).map(|_| board()).collect();
        Self {
            barrier: Barrier {
                threads,
                have_cores: have_cores(threads),
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
        own.report.write(|slot| *slot = report);
        for (letters, slot) in letters.iter_mut().zip(&own.letters).filter(|(letters, _)| !letters.is_empty())
        {
            slot.write(|slot| std::mem::swap(letters, slot));
        }
        if !self.meetings.barrier.wait() {
            return None;
        }
        for (board, report) in boards.iter().zip(&mut self.reports) {
            board.report.read(|brought| report.clone_from(brought));
            board.letters[self.number].write(|slot| std::mem::swap(&mut self.letters, slot));
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
