//! Schedule of connections: when they start, and how their bytes interleave.

use crate::random::Stream;
use crate::sizes::{Cdf, Convention, Published};
use crate::{Headers, PacketRecord};
use anabranch_split::FiveTuple;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest record in bytes: 64 KiB, the most that segmentation offload passes down at once.
pub const RECORD_BYTES_MAX: u64 = 64 << 10;
/// Mean time between starts of connections, a Poisson process: 100,000 a second.
pub const MEAN_GAP_NS: f64 = 10_000.0;
/// Rate of every connection, which spaces its records: 64 KiB every 524,288 ns.
pub const CONNECTION_RATE_BPS: u64 = 1_000_000_000;

/// Remaining bytes of a connection. Ordered by time, then by start.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sending {
    time_ns: u64,
    serial: u64,
    bytes_left: u64,
    tuple: FiveTuple,
}

/// Connections in progress. Memory is that of the active ones, some 1,400 at a time.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Stream,
    web_search: Cdf,
    sizes: Stream,
    active: BinaryHeap<Reverse<Sending>>,
    next_start_ns: f64,
    started: u64,
}

impl Schedule {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            arrivals: Stream::new(seed, "arrivals"),
            web_search: Published::named("web-search").expect("a published table").cdf(Convention::Linear),
            sizes: Stream::new(seed, "sizes"),
            active: BinaryHeap::new(),
            next_start_ns: 0.0,
            started: 0,
        }
    }

    /// Whether the next record in time is the first of a new connection.
    pub(super) fn starts_next(&self) -> bool {
        self.active.peek().is_none_or(|Reverse(next)| self.next_start_ns as u64 <= next.time_ns)
    }

    /// Starts a connection at the time drawn for it.
    pub(super) fn start(&mut self, tuple: FiveTuple) {
        let bytes_left = self.web_search.draw_bytes(&mut self.sizes);
        let time_ns = self.next_start_ns as u64;
        self.active.push(Reverse(Sending { time_ns, serial: self.started, bytes_left, tuple }));
        self.started += 1;
        self.next_start_ns += self.arrivals.exponential(MEAN_GAP_NS);
    }

    /// Takes the next record of the connections in progress.
    pub(super) fn send(&mut self) -> Option<PacketRecord> {
        let Reverse(sending) = self.active.pop()?;
        let bytes = sending.bytes_left.min(RECORD_BYTES_MAX);
        if sending.bytes_left > bytes {
            let wait_ns = bytes * 8 * 1_000_000_000 / CONNECTION_RATE_BPS;
            self.active.push(Reverse(Sending {
                time_ns: sending.time_ns + wait_ns,
                bytes_left: sending.bytes_left - bytes,
                ..sending
            }));
        }
        Some(PacketRecord {
            time_ns: sending.time_ns,
            bytes,
            tuple: sending.tuple,
            headers: Headers::default(),
        })
    }
}
