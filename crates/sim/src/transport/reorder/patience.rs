//! How long a gap at the border of a flowcell is worth waiting for (Presto, SIGCOMM 2015, section 3.2).

/// Timeout as a multiple of the average (alpha), and the part of the average within which news of what is held prolongs it
/// (1 / beta).
const MULTIPLE: u64 = 2;
/// Weight of a new measurement, 1 / 8 as that of TCP's round trip (RFC 6298): the paper gives none.
const GAIN_SHIFT: u32 = 3;

/// The moving average of what reordering at borders took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// In picoseconds; zero before the first.
    average_ps: u64,
    /// Gap that was given up last: bytes before this one were missing, and held for since then.
    missing_before: u64,
    since_ps: u64,
}

impl Patience {
    /// A gap closed after so long.
    pub(super) fn measure(&mut self, took_ps: u64) {
        self.average_ps = if self.average_ps == 0 {
            took_ps
        } else {
            self.average_ps - (self.average_ps >> GAIN_SHIFT) + (took_ps >> GAIN_SHIFT)
        };
    }

    /// Stops holding for bytes that are missing before this one, since that time.
    pub(super) fn give_up(&mut self, missing_before: u64, since_ps: u64) {
        (self.missing_before, self.since_ps) = (missing_before, since_ps);
    }

    /// A segment came that was not sent again. If it was given up, that was too early: the average learns by how much, lest
    /// it stay too low for good.
    #[inline]
    pub(super) fn regret(&mut self, seq: u64, now_ps: u64) {
        if seq < self.missing_before {
            self.measure(now_ps - self.since_ps);
            self.missing_before = 0;
        }
    }

    /// When to give up a gap that was found at `since_ps`, news of what lies behind it having come at `news_ps`; after
    /// `most_ps` at the latest, and then only if nothing was measured yet.
    #[inline]
    pub(super) fn until_ps(&self, since_ps: u64, news_ps: u64, most_ps: u64) -> u64 {
        let latest_ps = since_ps + most_ps;
        if self.average_ps == 0 {
            return latest_ps;
        }
        latest_ps.min((since_ps + MULTIPLE * self.average_ps).max(news_ps + self.average_ps / MULTIPLE))
    }
}
