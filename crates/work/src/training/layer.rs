//! Operations and bytes of a layer, closed forms of its shape.

use super::Training;

/// Pass over a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    Forward,
    /// Gradients of the inputs and of the weights: each as much as forward.
    Backward,
}

impl Pass {
    fn times(self) -> u64 {
        match self {
            Self::Forward => 1,
            Self::Backward => 2,
        }
    }
}

impl Training {
    /// Whether feed-forward networks are experts.
    pub(super) fn has_experts(&self) -> bool {
        self.experts > 1
    }

    /// Weights of attention that a rank has: four matrices.
    fn attention_weights(&self) -> u64 {
        4 * self.hidden * self.hidden / u64::from(self.tensor)
    }

    /// Weights of one feed-forward network: two matrices.
    fn network_weights(&self) -> u64 {
        2 * self.hidden * self.feed_forward
    }

    /// Weights of a layer that a rank shares with all replicas.
    pub(super) fn shared_weights(&self) -> u64 {
        let network = if self.has_experts() { 0 } else { self.network_weights() / u64::from(self.tensor) };
        self.attention_weights() + network
    }

    /// Weights of a layer's experts that a rank has.
    pub(super) fn expert_weights(&self) -> u64 {
        let own = u64::from(self.experts / self.expert);
        if self.has_experts() { own * self.network_weights() } else { 0 }
    }

    /// Time of attention at a rank: a multiplication and an addition for each weight and token, and two products of
    /// `sequence` by `hidden` for each token.
    pub(super) fn attention_ps(&self, pass: Pass) -> Option<u64> {
        let scores = 4 * self.sequence * self.hidden / u64::from(self.tensor);
        let operations = self.tokens().checked_mul(2 * self.attention_weights() + scores)?;
        self.time_ps(pass, operations, self.attention_weights())
    }

    /// Time of the feed-forward network at a rank; with experts that of the tokens which come to it, the `member`-th of
    /// its expert group.
    pub(super) fn network_ps(&self, pass: Pass, member: usize) -> Option<u64> {
        if !self.has_experts() {
            let weights = self.network_weights() / u64::from(self.tensor);
            return self.time_ps(pass, self.tokens().checked_mul(2 * weights)?, weights);
        }
        let token_bytes = self.hidden * self.value_bytes;
        let came = match &self.expert_blocks {
            None => self.expert_bytes(),
            Some(blocks) => blocks.iter().skip(member).step_by(self.expert as usize).sum(),
        };
        let operations = (came / token_bytes).checked_mul(2 * self.network_weights())?;
        self.time_ps(pass, operations, self.expert_weights())
    }

    fn time_ps(&self, pass: Pass, operations: u64, weights: u64) -> Option<u64> {
        let times = pass.times();
        self.accelerator
            .time_ps(operations.checked_mul(times)?, (weights * times).checked_mul(self.value_bytes)?)
    }

    /// Size of the all-reduce of a layer's partial sums: the state of all tokens.
    pub(super) fn state_bytes(&self) -> u64 {
        self.tokens() * self.hidden * self.value_bytes
    }
}
