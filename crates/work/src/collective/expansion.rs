//! Messages of a collective with the bytes that they carry, and what each waits for.

use super::Collective;
use crate::{Act, Builder, NodeId, WorkError};
use std::ops::Range;

/// Data of a message. What is moved is a range of the vector; of an all-to-all, the number of a block, source times ranks
/// plus destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Node that sends it.
    pub send: NodeId,
    /// Rank that sends it, by its number in the collective.
    pub from: usize,
    /// Rank that receives it, by its number in the collective.
    pub to: usize,
    /// Range that it carries.
    pub range: Range<u64>,
    /// Whether the receiver adds it to what it has, and does not replace that.
    pub adds: bool,
}

/// Nodes that each member of a group waits for before it goes on.
pub(super) type Ends = Vec<Vec<NodeId>>;

/// A collective that is being expanded.
pub(super) struct Expansion<'a> {
    pub(super) builder: &'a mut Builder,
    pub(super) ranks: &'a [u32],
    pub(super) collective: &'a Collective,
    /// What each message carries, if that is asked for.
    pub(super) moves: Option<Vec<Move>>,
}

impl Expansion<'_> {
    /// Number of ranks that take part.
    pub(super) fn count(&self) -> usize {
        self.ranks.len()
    }

    /// Expands the vector channel by channel; `each` times as many as the collective has.
    pub(super) fn in_channels(
        &mut self,
        each: u32,
        expand: impl Fn(&mut Self, Range<u64>, u32) -> Result<(), WorkError>,
    ) -> Result<(), WorkError> {
        let channels = self.collective.channels * each;
        (0..channels).try_for_each(|channel| {
            let whole = part(&(0..self.collective.bytes), channels as usize, channel as usize);
            expand(self, whole, channel)
        })
    }

    /// Adds a message. Its send waits for `send_after`, what the receiver does with it for `recv_after`. Returns the
    /// send, and the node that ends when the receiver has dealt with the data.
    pub(super) fn transfer(
        &mut self,
        (from, to): (usize, usize),
        (range, bytes): (Range<u64>, u64),
        adds: bool,
        send_after: &[NodeId],
        recv_after: &[NodeId],
    ) -> Result<(NodeId, NodeId), WorkError> {
        let (send, recv) = self.builder.message(self.ranks[from], self.ranks[to], bytes)?;
        for &before in send_after {
            self.builder.requires(send, before);
        }
        for &before in recv_after {
            self.builder.requires(recv, before);
        }
        if let Some(moves) = &mut self.moves {
            moves.push(Move { send, from, to, range, adds });
        }
        let ps = (bytes as f64 * self.collective.reduce_ps_per_byte).round() as u64;
        if !adds || ps == 0 {
            return Ok((send, recv));
        }
        let sum = self.builder.node(self.ranks[to], Act::Calc { ps })?;
        self.builder.requires(sum, recv);
        Ok((send, sum))
    }

    /// Adds a message of a range of the vector.
    pub(super) fn pass(
        &mut self,
        pair: (usize, usize),
        range: Range<u64>,
        adds: bool,
        send_after: &[NodeId],
        recv_after: &[NodeId],
    ) -> Result<(NodeId, NodeId), WorkError> {
        let bytes = range.end - range.start;
        self.transfer(pair, (range, bytes), adds, send_after, recv_after)
    }
}

/// Part `index` of a range in `parts`: the parts are as equal as whole bytes allow.
pub(super) fn part(range: &Range<u64>, parts: usize, index: usize) -> Range<u64> {
    let length = u128::from(range.end - range.start);
    let upto = |index: usize| range.start + (length * index as u128 / parts as u128) as u64;
    upto(index)..upto(index + 1)
}
