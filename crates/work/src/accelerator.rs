//! What computes, and how long it takes by a roofline.

/// Speed of what computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accelerator {
    /// Operations per second.
    pub flops: u64,
    /// Bytes per second between it and its memory.
    pub memory_bytes_per_s: u64,
}

impl Accelerator {
    /// Duration in picoseconds of so many operations on so many bytes: the longer of computing and moving (Williams,
    /// Waterman, Patterson, "Roofline", CACM 2009; astra-sim, `Workload::issue_comp`). None beyond 2^63 ps.
    #[must_use]
    pub fn time_ps(&self, operations: u64, bytes: u64) -> Option<u64> {
        let ps = |amount: u64, per_s: u64| {
            (u128::from(amount) * 1_000_000_000_000 + u128::from(per_s / 2)) / u128::from(per_s.max(1))
        };
        let longer = ps(operations, self.flops).max(ps(bytes, self.memory_bytes_per_s));
        u64::try_from(longer).ok().filter(|&ps| ps < 1 << 63)
    }
}
