//! Linked increases (RFC 6356, section 3).
//!
//! For each acknowledgement in congestion avoidance subflow i grows by min(a acked mss / W, acked mss / w_i) bytes,
//! where w_i are the windows, W is their sum and a = W max(w/rtt^2) / (sum w/rtt)^2. Read as "a segment for each so
//! many acknowledged bytes" this is the greater of W / a and w_i, and W is in it no more: W / a = (sum w/rtt)^2 /
//! max(w/rtt^2).

use super::Pace;

/// W / a, rounded: bytes to be acknowledged on a subflow for a segment of growth, or its own window if that is
/// more. Subflows that have not measured a round trip yet take no part, as in Linux. Zero if none has.
pub(crate) fn interval_bytes(paces: &[Pace]) -> u64 {
    let (mut rates, mut best) = (0.0, 0.0f64);
    for &(window, rtt_ps) in paces.iter().flatten() {
        let (window, rtt) = (window as f64, rtt_ps as f64);
        rates += window / rtt;
        best = best.max(window / (rtt * rtt));
    }
    if best > 0.0 { (rates * rates / best).round() as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::super::Pace;
    use super::interval_bytes;
    use crate::transport::newreno;

    const MS: u64 = 1_000_000_000;

    fn pace(window: u64, ms: u64) -> Pace {
        Some((window, ms * MS))
    }

    /// W = 30,000, a = 30,000 * 10,000/1 / (10,000/1 + 20,000/2)^2 = 0.75: W / a = 40,000.
    #[test]
    fn two_unequal_paths_by_hand() {
        assert_eq!(interval_bytes(&[pace(10_000, 1), pace(20_000, 2)]), 40_000);
    }

    /// a = 1/n for n equal subflows: n^2 windows acknowledged for a segment, n segments a round trip divided by n^2.
    #[test]
    fn equal_paths_share_one_increase() {
        assert_eq!(interval_bytes(&[pace(14_480, 3); 2]), 4 * 14_480);
        assert_eq!(interval_bytes(&[pace(14_480, 1); 8]), 64 * 14_480);
    }

    /// W = 100,000 and 50,000 at 1 ms and 10 ms: max is 100,000 / 1; (100,000 + 5,000)^2 / 100,000 = 110,250. On the
    /// slow path the formula asks for 110,250 as well; on the fast one it is more than its window of 100,000.
    #[test]
    fn a_slow_path_adds_little() {
        assert_eq!(interval_bytes(&[pace(100_000, 1), pace(50_000, 10)]), 110_250);
    }

    /// The other arm of the minimum: the fast path's small window makes W / a less than the slow path's window, which
    /// then grows as TCP's would. 10,000 at 1 ms, 200,000 at 10 ms: (10,000 + 20,000)^2 / 10,000 = 90,000 < 200,000.
    #[test]
    fn no_subflow_grows_faster_than_tcp() {
        let interval = interval_bytes(&[pace(10_000, 1), pace(200_000, 10)]);
        assert_eq!(interval, 90_000);
        let (mut window, mut credit) = (200_000, 0);
        newreno::avoid(&mut window, &mut credit, 199_999, 1000, interval);
        assert_eq!((window, credit), (200_000, 199_999));
        newreno::avoid(&mut window, &mut credit, 1, 1000, interval);
        assert_eq!((window, credit), (201_000, 0));
        // The fast one has to wait for 90,000 bytes, nine windows.
        let (mut window, mut credit) = (10_000, 0);
        newreno::avoid(&mut window, &mut credit, 180_000, 1000, interval);
        assert_eq!((window, credit), (12_000, 0));
    }

    /// Alone, the subflow's own window is never less than the interval: NewReno, whatever the round trip.
    #[test]
    fn one_subflow_is_newreno() {
        for window in (1..200_000).step_by(37) {
            for rtt_ps in [1, 3, 7_777_777, 100 * MS, u64::from(u32::MAX) * 1000] {
                assert!(interval_bytes(&[Some((window, rtt_ps)), None]) <= window, "{window} at {rtt_ps}");
            }
        }
    }

    #[test]
    fn nothing_measured_links_nothing() {
        assert_eq!(interval_bytes(&[None, None]), 0);
        assert_eq!(interval_bytes(&[]), 0);
    }
}
