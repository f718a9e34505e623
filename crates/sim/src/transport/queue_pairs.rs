//! Several queue pairs between two hosts: what RDMA libraries do to be hashed to more than one path.

/// Parts of a message are multiples of this many bytes, as NCCL cuts them (`net_ib.cc`, `ncclIbMultiSend`).
const ALIGNMENT_BYTES: u64 = 128;

/// Queue pairs of RoCE, or packet delivery contexts of UEC, and how messages use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePairs {
    /// How many, at least one (`NCCL_IB_QPS_PER_CONNECTION`).
    pub count: u8,
    /// How messages use them (`NCCL_IB_SPLIT_DATA_ON_QPS`).
    pub mode: QueuePairMode,
    /// Whether two hosts keep theirs; otherwise each message opens its own.
    pub persistent: bool,
    /// UDP source ports that they are given, where switches hash them.
    pub source_ports: SourcePorts,
}

/// UDP source ports of queue pairs by their numbers; hosts choose those of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePorts {
    ports: [u16; 64],
    count: u8,
}

impl SourcePorts {
    /// None.
    pub const NONE: Self = Self { ports: [0; 64], count: 0 };

    /// These, of which the first 64 count.
    #[must_use]
    pub fn of(given: &[u16]) -> Self {
        let mut all = Self::NONE;
        for (port, &given) in all.ports.iter_mut().zip(given) {
            *port = given;
            all.count += 1;
        }
        all
    }

    /// Source port of a queue pair, if it is given one.
    #[must_use]
    pub fn get(&self, queue_pair: u8) -> Option<u16> {
        self.as_slice().get(usize::from(queue_pair)).copied()
    }

    /// All that are given.
    #[must_use]
    pub fn as_slice(&self) -> &[u16] {
        &self.ports[..self.count.into()]
    }
}

/// How messages use queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuePairMode {
    /// Each message is split evenly over all of them.
    Split,
    /// Messages take them in turn.
    RoundRobin,
}

impl QueuePairs {
    /// One for each message.
    pub const ONE: Self =
        Self { count: 1, mode: QueuePairMode::Split, persistent: false, source_ports: SourcePorts::NONE };

    /// Bytes of each part of a message, one part for each queue pair that carries any.
    pub fn parts(self, bytes: u64) -> impl Iterator<Item = u64> {
        let part_bytes = match self.mode {
            QueuePairMode::Split => {
                bytes.div_ceil(self.count.into()).div_ceil(ALIGNMENT_BYTES) * ALIGNMENT_BYTES
            }
            QueuePairMode::RoundRobin => bytes,
        };
        (0..bytes.div_ceil(part_bytes)).map(move |part| part_bytes.min(bytes - part * part_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All bytes, over at most as many parts as there are queue pairs, none longer than its even share and an alignment.
        #[test]
        fn parts_are_even_and_whole(count in 1u8..=64, bytes in 1u64..10_000_000) {
            let pairs = QueuePairs { count, ..QueuePairs::ONE };
            let parts: Vec<u64> = pairs.parts(bytes).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), bytes);
            prop_assert!(parts.len() <= usize::from(count));
            prop_assert!(parts.iter().all(|&part| 0 < part && part < bytes / u64::from(count) + 129));
            let in_turn = QueuePairs { mode: QueuePairMode::RoundRobin, ..pairs };
            prop_assert_eq!(in_turn.parts(bytes).collect::<Vec<_>>(), vec![bytes]);
        }
    }
}
