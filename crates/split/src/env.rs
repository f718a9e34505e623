//! Environment of a scheme: simulator, batch over a capture, or kernel.

/// Capabilities that an environment gives and a scheme needs, as bits so that `const` code can compare them.
pub mod capability {
    /// Clock: [`super::Env::now_ns`] advances.
    pub const CLOCK: u32 = 1;
    /// Randomness: [`super::Env::random_u32`] is a stream, not a constant.
    pub const RANDOM: u32 = 1 << 1;
    /// Queues: [`super::Env::backlog_bytes`] is the backlog of a member's port.
    pub const BACKLOG: u32 = 1 << 2;
    /// Tag: a field of [`crate::Packet::tag`] travels with each packet until it is removed.
    pub const TAG: u32 = 1 << 3;
    /// Timer: [`crate::Pick::tick`] is called when the scheme asks for it.
    pub const TIMER: u32 = 1 << 4;
    /// Probes: packets of the scheme's own travel the fabric and come back to [`crate::Pick::learn`].
    pub const PROBE: u32 = 1 << 5;
    /// Feedback: [`crate::Pick::learn`] gets the fate of packets sent earlier: acknowledgements, marks, losses.
    pub const FEEDBACK: u32 = 1 << 6;

    /// Capabilities of a program in the kernel's datapath: its clock, its random numbers, and a header field to mark.
    pub const KERNEL: u32 = CLOCK | RANDOM | TAG;

    /// Name of each capability, in a word.
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

/// Environment that a scheme runs in. Every method inlines to a field read or a helper call.
pub trait Env {
    /// Bits of [`capability`] that this environment gives.
    const GIVES: u32;

    /// Time since an origin that the environment chooses, in nanoseconds; it never runs backwards.
    fn now_ns(&mut self) -> u64;

    /// Draws the next 32 random bits. An environment without randomness gives zero.
    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        0
    }

    /// Backlog of a member's port in bytes, including the frame in service.
    #[inline(always)]
    fn backlog_bytes(&mut self, _member: u16) -> u32 {
        0
    }

    /// Whether a member can carry traffic now. An environment that re-plans on every change keeps the default.
    #[inline(always)]
    fn up(&self, _member: u16) -> bool {
        true
    }
}

/// Draws a uniform number below `end`, which must not be zero (Lemire's multiplication, without its rejection: the bias
/// is below `end` / 2^32).
#[inline(always)]
pub fn random_below<E: Env>(env: &mut E, end: u32) -> u32 {
    ((u64::from(env.random_u32()) * u64::from(end)) >> 32) as u32
}

/// Environment without a clock, where every member of the plan is alive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still;

impl Env for Still {
    const GIVES: u32 = 0;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        0
    }
}
