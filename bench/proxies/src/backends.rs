//! Backends as every program here knows them: by a name of their own and a weight.

/// Backends of a group; a weight of zero is one that has left.
pub(crate) struct Backends<'a> {
    pub(crate) names: &'a [String],
    pub(crate) weights: &'a [u64],
}

impl Backends<'_> {
    /// Numbers of those that have a weight, in ascending order.
    pub(crate) fn present(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|&member| self.weights[member] > 0).collect()
    }
}

/// Names of so many backends of a group: addresses with ports, of another network for each `seed`.
pub(crate) fn names(count: usize, seed: u64) -> Vec<String> {
    (0..count).map(|member| format!("10.{}.0.{}:8080", seed % 256, member + 10)).collect()
}
