//! Reno's window: RFC 5681 with appropriate byte counting (RFC 3465).

/// Congestion avoidance (RFC 5681, section 3.1): a segment for each window of acknowledged bytes, or for `interval`
/// bytes where those are more (zero: never). `credit` is what was acknowledged since the last.
#[inline]
pub(super) fn avoid(window: &mut u64, credit: &mut u64, acked: u64, segment: u64, interval: u64) {
    *credit += acked;
    while *credit >= interval.max(*window) {
        *credit -= interval.max(*window);
        *window += segment;
    }
}

/// Slow start threshold after a loss (RFC 5681, eq. 4). What limited transmit sent beyond the window does not count.
pub(super) fn halved(window: u64, flight: u64, segment: u64) -> u64 {
    (flight.min(window) / 2).max(2 * segment)
}
