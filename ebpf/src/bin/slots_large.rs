//! A table of 65,536 slots.

#![no_std]
#![no_main]

use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, Plan, SLOTS_LARGE};
use anabranch_split::picks::Slots;
use anabranch_split::{Env, Packet, pick};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::Array;
use aya_ebpf::programs::{TcContext, XdpContext};

#[map]
static PLANS: Array<Plan<[u8; SLOTS_LARGE]>> = Array::with_max_entries(GENERATIONS, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<[u8; SLOTS_LARGE]>, packet: &mut Packet, env: &mut E) -> u16 {
    pick::<Slots<u8, SLOTS_LARGE>, _>(&plan.body, &mut (), packet, env)
}

#[classifier]
pub fn slots_large(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn slots_large_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
