//! Dispatching cycle with one counter for all packets (DBB), one on each processor.

#![no_std]
#![no_main]

use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, Plan, Turns};
use anabranch_split::picks::Cycle;
use anabranch_split::{Env, Packet, pick};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::{Array, PerCpuArray};
use aya_ebpf::programs::{TcContext, XdpContext};

#[map]
static PLANS: Array<Plan<Turns>> = Array::with_max_entries(GENERATIONS, 0);

/// Place of the next turn of each group; the loader sizes it.
#[map]
static TURN: PerCpuArray<u32> = PerCpuArray::with_max_entries(1, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<Turns>, packet: &mut Packet, env: &mut E) -> u16 {
    // SAFETY: this processor's own.
    let Some(turn) = TURN.get_ptr_mut(packet.destination).map(|turn| unsafe { &mut *turn }) else { return 0 };
    pick::<Cycle<Turns>, _>(&plan.body, turn, packet, env)
}

#[classifier]
pub fn cycle(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn cycle_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
