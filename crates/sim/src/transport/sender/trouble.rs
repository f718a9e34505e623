//! State that most senders never need: the scoreboard, RACK's record, the token bucket of an application with a rate. It stands
//! apart from the sender, and a connection that does not need it does not touch it.

use super::Sender;
use crate::transport::pace::Bucket;
use crate::transport::rack::Rack;
use crate::transport::scoreboard::Scoreboard;
use crate::transport::undo::Undo;
use anabranch_split::prefetch::prefetch;

/// What losses, reordering, RACK, linked windows and applications with a rate need.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Trouble {
    /// What acknowledgements touch while there is reordering or loss.
    pub(super) board: Scoreboard,
    pub(super) rack: Rack,
    /// The last reduction, if it may be taken back.
    pub(super) undo: Undo,
    /// What the application of a flow has written, if it has a rate.
    pub(super) bucket: Option<Bucket>,
    /// Least bytes to be acknowledged for a segment of growth in congestion avoidance, where windows are linked; zero where
    /// this one grows by itself.
    pub(super) interval_bytes: u64,
}

impl Trouble {
    /// Makes it new again; what is allocated stays.
    fn reset(&mut self) {
        let Self { board, rack, undo, bucket, interval_bytes } = self;
        board.reset();
        rack.reset();
        *undo = Undo::default();
        *bucket = None;
        *interval_bytes = 0;
    }
}

impl Sender {
    /// The trouble there is, if there is any.
    #[inline(always)]
    pub(super) fn known_trouble(&self) -> Option<&Trouble> {
        if self.has_trouble { self.trouble.as_deref() } else { None }
    }

    /// The same, to be changed.
    #[inline(always)]
    pub(super) fn known_trouble_mut(&mut self) -> Option<&mut Trouble> {
        if self.has_trouble { self.trouble.as_deref_mut() } else { None }
    }

    /// The trouble there is, from now on. What an earlier connection left there is forgotten.
    #[inline(always)]
    pub(super) fn trouble(&mut self) -> &mut Trouble {
        if !self.has_trouble {
            self.begin_trouble();
        }
        self.trouble.get_or_insert_default()
    }

    #[cold]
    fn begin_trouble(&mut self) {
        self.has_trouble = true;
        if let Some(trouble) = &mut self.trouble {
            trouble.reset();
        }
    }

    /// Fetches what an acknowledgement will need of the trouble there is.
    #[inline(always)]
    pub(crate) fn prefetch_trouble(&self) {
        if let Some(trouble) = self.known_trouble() {
            prefetch(&raw const trouble.board);
        }
    }

    /// Whether every outstanding byte is in the network.
    #[inline(always)]
    pub(super) fn all_in_network(&self) -> bool {
        self.known_trouble().is_none_or(|trouble| trouble.board.is_empty())
    }

    /// When RACK is to look again; `u64::MAX` if never.
    #[inline(always)]
    pub(super) fn rack_due_at_ps(&self) -> u64 {
        self.known_trouble().map_or(u64::MAX, |trouble| trouble.rack.due_at_ps())
    }

    /// When the application writes what the window has room for; `u64::MAX` if it has, or need not.
    #[inline(always)]
    pub(super) fn written_at_ps(&self) -> u64 {
        let bucket = self.known_trouble().and_then(|trouble| trouble.bucket.as_ref());
        bucket.map_or(u64::MAX, |bucket| bucket.due_ps())
    }
}
