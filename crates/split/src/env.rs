//! What the place that runs a scheme gives it: simulator, batch over a capture, or kernel.

/// What a place can give and a scheme can need, as bits so that `const` code can compare them.
pub mod capability {
    /// A clock: [`super::Env::now_ns`] advances.
    pub const CLOCK: u32 = 1;
    /// Randomness: [`super::Env::random_u32`] is a stream, not a constant.
    pub const RANDOM: u32 = 1 << 1;
    /// Queues: [`super::Env::backlog_bytes`] tells what waits at a member's port.
    pub const BACKLOG: u32 = 1 << 2;
    /// A field of [`crate::Packet::tag`] travels with each packet to where it is taken off.
    pub const TAG: u32 = 1 << 3;
    /// [`crate::Scheme::tick`] is called when the scheme asks for it.
    pub const TIMER: u32 = 1 << 4;
    /// Packets of the scheme's own travel the fabric and come back to [`crate::Scheme::learn`].
    pub const PROBE: u32 = 1 << 5;
    /// [`crate::Scheme::learn`] is told what became of packets sent earlier: acknowledgements, marks, losses.
    pub const FEEDBACK: u32 = 1 << 6;

    /// What a program in the kernel's datapath has: its clock, its random numbers, and a header field to mark.
    pub const KERNEL: u32 = CLOCK | RANDOM | TAG;

    /// Each in a word.
    pub const NAMES: [(&str, u32); 7] = [
        ("clock", CLOCK),
        ("random", RANDOM),
        ("backlog", BACKLOG),
        ("tag", TAG),
        ("timer", TIMER),
        ("probes", PROBE),
        ("feedback", FEEDBACK),
    ];
}

/// The place a scheme runs in. Every method inlines to a field read or a helper call.
pub trait Env {
    /// Bits of [`capability`] this place gives.
    const GIVES: u32;

    /// Time since an origin of the place's own choice, in nanoseconds; never runs back.
    fn now_ns(&mut self) -> u64;

    /// The next 32 random bits. A place without randomness gives zero.
    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        0
    }

    /// Bytes that wait at a member's port, those in service included.
    #[inline(always)]
    fn backlog_bytes(&mut self, _member: u16) -> u32 {
        0
    }

    /// Whether a member can carry traffic now. A place that re-plans on every change leaves the default.
    #[inline(always)]
    fn up(&self, _member: u16) -> bool {
        true
    }
}

/// A uniform number below `end`, which must not be zero (Lemire's multiplication, without its rejection: the bias is below
/// `end` / 2^32).
#[inline(always)]
pub fn random_below<E: Env>(env: &mut E, end: u32) -> u32 {
    ((u64::from(env.random_u32()) * u64::from(end)) >> 32) as u32
}

/// A place without a clock, where every member of the plan is alive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still;

impl Env for Still {
    const GIVES: u32 = 0;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        0
    }
}
