//! Ranks of the groups of each dimension.

use super::Training;

impl Training {
    /// Rank by its place in each dimension: neighbours share a layer, and stages are furthest apart (the order of
    /// Megatron-LM, tensor, data, pipeline).
    pub(super) fn rank(&self, (tensor, data, stage): (u32, u32, u32)) -> u32 {
        tensor + self.tensor * (data + self.data * stage)
    }

    /// Ranks that share the layers of one replica and stage.
    pub(super) fn tensor_group(&self, data: u32, stage: u32) -> Vec<u32> {
        (0..self.tensor).map(|tensor| self.rank((tensor, data, stage))).collect()
    }

    /// Ranks that have the experts of a stage among them: neighbouring replicas.
    pub(super) fn expert_group(&self, tensor: u32, first: u32, stage: u32) -> Vec<u32> {
        (first..first + self.expert).map(|data| self.rank((tensor, data, stage))).collect()
    }

    /// Ranks of all replicas with the same weights.
    pub(super) fn replicas(&self, tensor: u32, stage: u32) -> Vec<u32> {
        (0..self.data).map(|data| self.rank((tensor, data, stage))).collect()
    }

    /// Ranks of all replicas with the same experts.
    pub(super) fn expert_replicas(&self, tensor: u32, member: u32, stage: u32) -> Vec<u32> {
        let replicas = (member..self.data).step_by(self.expert as usize);
        replicas.map(|data| self.rank((tensor, data, stage))).collect()
    }
}
