//! Logarithmic rendezvous: exact shares without a table, and changes that move the fewest flows.

#![no_std]
#![no_main]

use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, MEMBERS, Plan};
use anabranch_split::picks::{Bounded, Rendezvous, rendezvous};
use anabranch_split::{Env, Packet, pick};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::Array;
use aya_ebpf::programs::{TcContext, XdpContext};

type Entries = Bounded<rendezvous::Entry, MEMBERS>;

#[map]
static PLANS: Array<Plan<Entries>> = Array::with_max_entries(GENERATIONS, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<Entries>, packet: &mut Packet, env: &mut E) -> u16 {
    pick::<Rendezvous<Entries>, _>(&plan.body, &mut (), packet, env)
}

#[classifier]
pub fn rendezvous(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn rendezvous_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
