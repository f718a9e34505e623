//! The kernel as an environment that runs schemes.

use crate::hook::Hook;
use anabranch_split::picks::mix;
use anabranch_split::{Env, capability};
use aya_ebpf::helpers::{bpf_get_prandom_u32, bpf_ktime_get_ns};
use aya_ebpf::macros::map;
use aya_ebpf::maps::PerCpuArray;

/// Set before the program is loaded: clock and random numbers come with the packet, so that a run can be repeated. The
/// verifier then removes one of the two branches.
#[unsafe(no_mangle)]
static REPLAY: u32 = 0;

/// State of each processor's random numbers; zero before the first. The kernel's own costs 11 ns more on an AMD EPYC.
#[map]
static STREAMS: PerCpuArray<u32> = PerCpuArray::with_max_entries(1, 0);

/// The next random number of this processor, whose first state is the kernel's random number.
#[inline(always)]
fn drawn() -> u32 {
    let Some(state) = STREAMS.get_ptr_mut(0) else { return 0 };
    // SAFETY: this processor's own; the helper takes no arguments.
    unsafe {
        let now = if *state == 0 { bpf_get_prandom_u32() } else { *state };
        let (next, number) = mix::draw(now);
        *state = next;
        number
    }
}

/// Clock, random numbers and dead members for one packet.
pub struct Kernel<H> {
    packet: H,
    up: u64,
    drawn: u16,
}

impl<H: Hook> Kernel<H> {
    /// Environment of `packet`, with the members of `up` alive.
    #[inline(always)]
    pub fn new(packet: H, up: u64) -> Self {
        Self { packet, up, drawn: 0 }
    }

    #[inline(always)]
    fn replayed() -> bool {
        // SAFETY: a static of this program; volatile because the loader writes it.
        unsafe { core::ptr::read_volatile(&raw const REPLAY) != 0 }
    }
}

impl<H: Hook> Env for Kernel<H> {
    const GIVES: u32 = capability::KERNEL;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        // SAFETY: the helper takes no arguments.
        if Self::replayed() { self.packet.replayed_ns() } else { unsafe { bpf_ktime_get_ns() } }
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        if Self::replayed() {
            self.drawn += 1;
            mix::value(self.packet.replayed_random(), mix::salt(self.drawn))
        } else {
            drawn()
        }
    }

    #[inline(always)]
    fn up(&self, member: u16) -> bool {
        self.up >> (member & 63) & 1 != 0
    }
}

/// The same for a scheme that would search its plan for a living member, which the verifier cannot follow: its plan
/// lists the living alone, and is replaced on every change.
pub struct Replanned<'a, E>(pub &'a mut E);

impl<E: Env> Env for Replanned<'_, E> {
    const GIVES: u32 = E::GIVES;

    #[inline(always)]
    fn now_ns(&mut self) -> u64 {
        self.0.now_ns()
    }

    #[inline(always)]
    fn random_u32(&mut self) -> u32 {
        self.0.random_u32()
    }
}
