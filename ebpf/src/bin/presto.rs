//! Presto: flowcells of a flow take the paths of a list in turn.

#![no_std]
#![no_main]

use anabranch_balancers::presto::pick::{self as presto, Presto};
use anabranch_ebpf::flow_map::FLOWS;
use anabranch_ebpf::hook::{Tc, Xdp};
use anabranch_ebpf::kernel::Replanned;
use anabranch_ebpf::split::split;
use anabranch_kernel::layout::{GENERATIONS, Plan, Turns};
use anabranch_split::picks::{Flowcell, flowcell};
use anabranch_split::{Env, Packet, pick};
use aya_ebpf::macros::{classifier, map, xdp};
use aya_ebpf::maps::{Array, LruHashMap};
use aya_ebpf::programs::{TcContext, XdpContext};

/// A flow.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Sent {
    bytes: u64,
    state: presto::State,
}

#[map]
static PLANS: Array<Plan<Turns>> = Array::with_max_entries(GENERATIONS, 0);

#[map]
static KNOWN: LruHashMap<u64, Sent> = LruHashMap::with_max_entries(FLOWS, 0);

#[inline(always)]
fn member<E: Env>(plan: &Plan<Turns>, packet: &mut Packet, env: &mut E) -> u16 {
    let slot = KNOWN.get_ptr_mut(packet.flow);
    // SAFETY: a flow's packets are steered to one processor; at worst a count is a packet old.
    let mut sent = slot.map_or(Sent::default(), |slot| unsafe { *slot });
    packet.cell = flowcell::number(sent.bytes, Flowcell::BYTES.into()) as u32;
    let member = pick::<Presto<Turns>, _>(&plan.body, &mut sent.state, packet, &mut Replanned(env));
    sent.bytes += u64::from(packet.bytes);
    match slot {
        // SAFETY: as above.
        Some(slot) => unsafe { *slot = sent },
        None => {
            let _ = KNOWN.insert(packet.flow, sent, 0);
        }
    }
    member
}

#[classifier]
pub fn presto(context: TcContext) -> i32 {
    split(Tc::of(&context), &PLANS, member)
}

#[xdp]
pub fn presto_xdp(context: XdpContext) -> u32 {
    split(Xdp::of(&context), &PLANS, member) as u32
}
