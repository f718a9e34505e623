//! Steps of every program with a packet: group, plan in force, key, pick, count, way out.

use crate::frame::{self, To};
use crate::hook::Hook;
use crate::kernel::Kernel;
use anabranch_kernel::layout::{
    Counters, Destination, GENERATIONS, Gateways, MEMBERS, NAME_BYTES, Output, Plan, plan_number,
};
use anabranch_split::Packet;
use aya_ebpf::macros::map;
use aya_ebpf::maps::lpm_trie::{Key, LpmTrie};
use aya_ebpf::maps::{Array, PerCpuArray};

/// Set before the program is loaded: whether packets find their group by destination. Otherwise all are the first's, and
/// the verifier removes the look-up.
#[unsafe(no_mangle)]
static ROUTED: u32 = 0;

/// Number of the plans in force. A variable and no map: a load where a map costs a look-up. The loader knows it as
/// [`GENERATION`](anabranch_kernel::layout::GENERATION), so there must be no other variable that is not constant.
#[unsafe(no_mangle)]
static mut IN_FORCE: u32 = 0;

/// Group of each prefix.
#[map]
static ROUTES: LpmTrie<Destination, u32> = LpmTrie::with_max_entries(1, 0);

/// Counters of the members of each group. The look-up does not wait for the pick.
#[map]
static COUNTERS: PerCpuArray<Counters> = PerCpuArray::with_max_entries(1, 0);

/// Gateways of plans whose packets are routed.
#[map]
static GATEWAYS: Array<Gateways> = Array::with_max_entries(GENERATIONS, 0);

/// Names of groups, for user space alone.
#[map]
#[used]
static NAMES: Array<[u8; NAME_BYTES]> = Array::with_max_entries(GENERATIONS, 0);

/// The group of a destination.
#[inline(always)]
fn group(generation: u32, to: To) -> Option<u32> {
    // SAFETY: a static of this program; volatile because the loader writes it.
    if unsafe { core::ptr::read_volatile(&raw const ROUTED) } == 0 {
        return Some(0);
    }
    let destination = match to {
        To::V4(address) => Destination::v4(generation, address),
        To::V6(address) => Destination::v6(generation, address),
    };
    ROUTES.get(Key::new(Destination::BITS, destination)).copied()
}

/// Adds the packet to a member's counter.
#[inline(always)]
pub fn count<H: Hook>(packet: H, group: u32, member: u32) {
    if let Some(counters) = COUNTERS.get_ptr_mut(group) {
        // SAFETY: this processor's own counters.
        unsafe {
            let counter = &raw mut (*counters)[member as usize % MEMBERS];
            (*counter).packets += u64::from(packet.segments());
            (*counter).bytes += u64::from(packet.bytes());
        }
    }
}

/// Sends the packet where `pick` says. What is not IP, or belongs to no group, passes as if the program were not there.
#[inline(always)]
pub fn split<H: Hook, B: 'static>(
    packet: H,
    plans: &'static Array<Plan<B>>,
    pick: impl FnOnce(&Plan<B>, &mut Packet, &mut Kernel<H>) -> u16,
) -> i32 {
    let find = |to| {
        // SAFETY: a word that user space alone writes; volatile, because it does so at any time.
        let generation = unsafe { core::ptr::read_volatile(&raw const IN_FORCE) } % GENERATIONS;
        let group = group(generation, to)?;
        let number = plan_number(generation, group);
        let plan = plans.get(number)?;
        Some(((number, group, plan), plan.head.seed))
    };
    let Some(((number, group, plan), frame)) = frame::read(packet, find) else { return H::PASS };
    let routes = plan.head.output == Output::Route as u32;
    if plan.head.up == 0 {
        // A router without a way answers with an error, which the kernel makes.
        return if routes { H::PASS } else { H::DROP };
    }
    if routes && !packet.is_forwarded(&frame) {
        return H::PASS;
    }
    let mut asked = Packet {
        // Flows of two groups are two, whatever their keys.
        flow: u64::from(group) << 32 | u64::from(frame.key),
        bytes: packet.bytes(),
        destination: group,
        ..Packet::default()
    };
    let member = pick(plan, &mut asked, &mut Kernel::new(packet, plan.head.up));
    let member = u32::from(member) % MEMBERS as u32;
    let Some(&target) = plan.head.targets.get(member as usize) else { return H::DROP };
    if routes {
        let Some(gateway) = GATEWAYS.get(number).and_then(|all| all.get(member as usize)) else {
            return H::DROP;
        };
        let Some(verdict) = packet.route(&frame, target, gateway) else { return H::PASS };
        count(packet, group, member);
        return verdict;
    }
    count(packet, group, member);
    packet.leave(&plan.head, &frame, target)
}
