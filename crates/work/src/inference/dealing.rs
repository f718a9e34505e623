//! Which group does what: requests dealt in the order of their arrival, and parts of caches and of time.

use super::Inference;

/// Requests that neighbouring groups decode together, step by step.
pub(super) struct Batch {
    /// Number of these groups among all such, from 0.
    pub(super) unit: u32,
    /// Number of the batch among those that they have under way.
    pub(super) slot: u32,
    /// Requests of each group, by number.
    pub(super) groups: Vec<Vec<usize>>,
}

/// Part of a cache that goes from a rank of a prefill group to one of a decode group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CacheMove {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) heads: u32,
}

impl Inference {
    /// Whether feed-forward networks of the ranks that decode are experts.
    pub(super) fn has_experts(&self) -> bool {
        self.experts_per_token > 0
    }

    /// Number of requests that have more than a first token.
    pub(super) fn decoded(&self) -> u64 {
        self.requests.iter().filter(|asked| asked.output_tokens > 1).count() as u64
    }

    /// Batches, dealt to units in turn; those of a unit in the order in which it takes them.
    pub(super) fn batches(&self) -> Vec<Batch> {
        let decode = &self.decode;
        let units = (decode.groups / decode.expert) as usize;
        let all: Vec<usize> =
            (0..self.requests.len()).filter(|&number| self.requests[number].output_tokens > 1).collect();
        let of_unit = |unit: usize| all.iter().skip(unit).step_by(units).copied().collect::<Vec<usize>>();
        let size = decode.expert as usize * decode.batch as usize;
        let mut batches = Vec::new();
        for unit in 0..units.min(all.len()) {
            for (number, members) in of_unit(unit).chunks(size).enumerate() {
                let group = |place: usize| {
                    members.iter().skip(place).step_by(decode.expert as usize).copied().collect()
                };
                let slot = (number % decode.slots as usize) as u32;
                let groups = (0..decode.expert as usize).map(group).collect();
                batches.push(Batch { unit: unit as u32, slot, groups });
            }
        }
        batches
    }

    /// Steps until the last of these requests has its tokens.
    pub(super) fn steps(&self, group: &[usize]) -> u64 {
        group.iter().map(|&number| self.requests[number].output_tokens - 1).max().unwrap_or(0)
    }

    /// Moves of a cache: heads lie one after the other in as many parts as either group has ranks.
    pub(super) fn cache_moves(&self) -> Vec<CacheMove> {
        let (of_prefill, of_decode) =
            (self.kv_heads / self.prefill.tensor, self.kv_heads / self.decode.tensor);
        let (mut moves, mut head) = (Vec::new(), 0);
        while head < self.kv_heads {
            let (from, to) = (head / of_prefill, head / of_decode);
            let next = ((from + 1) * of_prefill).min((to + 1) * of_decode);
            moves.push(CacheMove { from, to, heads: next - head });
            head = next;
        }
        moves
    }

    /// Bytes of the cache of so many heads of one layer, keys and values.
    pub(super) fn cache_bytes(&self, heads: u32, tokens: u64) -> u64 {
        2 * u64::from(heads) * self.head * tokens * self.value_bytes
    }

    /// Time of a step of a group with so many requests in the batch; an idle one computes as for one.
    pub(super) fn step_ps(&self, requests: u64) -> u64 {
        let at_once = requests.max(1) * u64::from(self.decode.slots);
        let table = &self.decode.step_ps;
        table[(at_once as usize).min(table.len()) - 1]
    }

    /// Time of half a layer, the `half`-th of all: halves make up the whole exactly.
    pub(super) fn half_ps(&self, whole_ps: u64, half: u32) -> u64 {
        let upto = |half: u32| u128::from(whole_ps) * u128::from(half) / (2 * u128::from(self.layers));
        (upto(half + 1) - upto(half)) as u64
    }
}
