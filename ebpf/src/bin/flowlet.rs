//! LetFlow: each flowlet to a slot at random.

#![no_std]
#![no_main]

use anabranch_ebpf::flow_map::{FLOWS, FlowMap, Known};
use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, Plan, SLOTS};
use anabranch_split::picks::{Flowlet, Slots, units};
use anabranch_split::{Env, Packet};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::{Array, LruHashMap};
use aya_ebpf::programs::{TcContext, XdpContext};

#[map]
static PLANS: Array<Plan<[u8; SLOTS]>> = Array::with_max_entries(GENERATIONS, 0);

#[map]
static KNOWN: LruHashMap<u64, Known<u64>> = LruHashMap::with_max_entries(FLOWS, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<[u8; SLOTS]>, packet: &mut Packet, env: &mut E) -> u16 {
    let boundary = Flowlet { gap_ns: plan.head.pause_ns };
    let flows = &mut FlowMap(&KNOWN);
    units::pick::<_, Slots<u8, SLOTS>, _, _>(&boundary, &plan.body, flows, &mut (), packet, env)
}

#[classifier]
pub fn flowlet(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn flowlet_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
