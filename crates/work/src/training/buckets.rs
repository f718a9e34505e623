//! Buckets of gradients: layers of a stage, the last first, as they become known.

use super::Training;

/// Gradients that are added together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Layer of the stage with which they are complete.
    pub(super) layer: u32,
    pub(super) bytes: u64,
}

impl Training {
    /// Buckets of a stage, of `weights` in each of its layers.
    pub(super) fn buckets(&self, weights: u64) -> Vec<Bucket> {
        let mut buckets = Vec::new();
        let mut bytes = 0;
        for layer in (0..self.layers / self.pipeline).rev() {
            bytes += weights * self.gradient_bytes;
            if bytes > 0 && (bytes >= self.bucket_bytes || layer == 0) {
                buckets.push(Bucket { layer, bytes });
                bytes = 0;
            }
        }
        buckets
    }
}
