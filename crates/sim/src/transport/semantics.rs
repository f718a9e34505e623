//! Semantics of RDMA: writes and sends.

/// What a message needs at its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Semantics {
    /// RDMA write: nothing, it goes into memory that the sender knows.
    Write,
    /// Send: a receive that was posted. Where there is none, the receiver answers its first packet with RNR NAK and
    /// discards the others, and the sender begins anew after `rnr_ps`, as often as it takes (InfiniBand specification,
    /// section 9.7.5.2.8, with retry count 7).
    Send {
        /// Time that the receiver asks for, one of [`Self::RNR_TIMERS_PS`].
        rnr_ps: u64,
    },
}

impl Semantics {
    /// Times that an RNR NAK can name (InfiniBand specification, table "Encoding for RNR NAK Timer Field"), ascending.
    pub const RNR_TIMERS_PS: [u64; 32] = {
        const UNIT_PS: u64 = 10_000_000;
        let units = [
            1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048,
            3072, 4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536,
        ];
        let mut times = [0; 32];
        let mut index = 0;
        while index < 32 {
            times[index] = units[index] * UNIT_PS;
            index += 1;
        }
        times
    };

    /// Timer 12, 0.64 ms, of NCCL and of the programs of `perftest`.
    pub const SEND: Self = Self::Send { rnr_ps: 640_000_000 };
}
