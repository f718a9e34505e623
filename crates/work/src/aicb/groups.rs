//! Groups of ranks (SimAI, `MockNcclGroup.cc`): neighbours share layers, neighbouring replicas divide experts.

use super::header::Header;

/// Kind of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Ranks that share each layer.
    Tensor,
    /// Replicas with all experts among them.
    Expert,
    /// All replicas.
    Data,
    /// Replicas with the same experts.
    ExpertData,
}

impl Header {
    /// Replicas of each stage. SimAI's packet simulation counts stages as replicas (`Sys.cc`, `PP_size`); its analytical
    /// one divides by them, as here.
    fn replicas(&self) -> u32 {
        self.ranks / self.tensor / self.pipeline
    }

    /// Number of ranks of a group.
    pub(super) fn size(&self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Expert => self.expert,
            Group::Data => self.replicas(),
            Group::ExpertData => self.replicas() / self.expert,
        }
    }

    /// All groups of a kind.
    pub(super) fn groups(&self, group: Group) -> Vec<Vec<u32>> {
        let (tensor, replicas) = (self.tensor, self.replicas());
        let (step, size) = match group {
            Group::Tensor => (1, tensor),
            Group::Expert => (tensor, self.expert),
            Group::Data => (tensor, replicas),
            Group::ExpertData => (tensor * self.expert, replicas / self.expert),
        };
        // Each rank is in the group of the first one that it is a whole number of steps after, within a block.
        let firsts = (0..self.ranks).filter(|rank| rank / step % size == 0);
        firsts.map(|first| (0..size).map(|place| first + place * step).collect()).collect()
    }
}
