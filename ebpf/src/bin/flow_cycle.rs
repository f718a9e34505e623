//! Dispatching cycle with a counter for each flow (DBB's independent counters, Wino's marks).

#![no_std]
#![no_main]

use anabranch_ebpf::flow_map::{FLOWS, FlowMap, Known};
use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, Plan, Turns};
use anabranch_split::picks::{FlowCycle, flow_cycle};
use anabranch_split::{Env, Packet, pick};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::{Array, LruHashMap};
use aya_ebpf::programs::{TcContext, XdpContext};

#[map]
static PLANS: Array<Plan<Turns>> = Array::with_max_entries(GENERATIONS, 0);

#[map]
static KNOWN: LruHashMap<u64, Known<flow_cycle::Counter>> = LruHashMap::with_max_entries(FLOWS, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<Turns>, packet: &mut Packet, env: &mut E) -> u16 {
    let cycle =
        flow_cycle::Plan { turns: &plan.body, start: flow_cycle::Start::Random, idle_ns: plan.head.pause_ns };
    pick::<FlowCycle<&Turns, _>, _>(&cycle, &mut FlowMap(&KNOWN), packet, env)
}

#[classifier]
pub fn flow_cycle(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn flow_cycle_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
