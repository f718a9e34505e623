//! Flow sizes of web search.
//!
//! Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, Figure 4, in the tabulation that the load-balancing
//! literature shares (HKUST-SING/TrafficGenerator, `conf/DCTCP_CDF.txt`).

use super::stream::Stream;

/// Bytes, and the share of flows that are no larger. Linear between knots, which fixes the mean at 1,711,250 bytes;
/// drawing the upper knot instead would give 2,434,900.
const KNOTS: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.20),
    (30e3, 0.30),
    (50e3, 0.40),
    (80e3, 0.53),
    (200e3, 0.60),
    (1e6, 0.70),
    (2e6, 0.80),
    (5e6, 0.90),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// A flow size in bytes, at least one.
pub(super) fn draw_bytes(stream: &mut Stream) -> u64 {
    let u = stream.unit();
    let above = KNOTS.partition_point(|&(_, share)| share <= u);
    let ((low, p), (high, q)) = (KNOTS[above - 1], KNOTS[above]);
    ((low + (high - low) * (u - p) / (q - p)) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_published_table() {
        let mut stream = Stream::new(1, "test of sizes");
        let mut sizes: Vec<u64> = (0..200_000).map(|_| draw_bytes(&mut stream)).collect();
        sizes.sort_unstable();
        let n = sizes.len() as f64;
        // Kolmogorov-Smirnov against the table read the other way, from size to share.
        let share = |size: f64| {
            let pair = KNOTS.windows(2).find(|pair| size <= pair[1].0).unwrap();
            let ((low, p), (high, q)) = (pair[0], pair[1]);
            p + (q - p) * (size - low) / (high - low)
        };
        let distance = sizes
            .iter()
            .enumerate()
            .map(|(i, &size)| (share(size as f64) - (i as f64 + 0.5) / n).abs())
            .fold(0.0, f64::max);
        assert!(distance * n.sqrt() < 1.63, "KS {} at the 1% level of 1.63", distance * n.sqrt());
        let mean = sizes.iter().sum::<u64>() as f64 / n;
        let deviation = sizes.iter().map(|&s| (s as f64 - mean).powi(2)).sum::<f64>() / n;
        assert!((mean - 1_711_250.0).abs() < 4.0 * (deviation / n).sqrt(), "mean {mean}");
    }
}
