//! What every program does with a packet: group, plan in force, key, pick, count, way out.

use crate::frame::{self, To};
use crate::hook::Hook;
use crate::kernel::Kernel;
use anabranch_kernel::layout::{Counter, Destination, GENERATIONS, MEMBERS, NAME_BYTES, Plan};
use anabranch_split::Packet;
use aya_ebpf::macros::map;
use aya_ebpf::maps::lpm_trie::{Key, LpmTrie};
use aya_ebpf::maps::{Array, PerCpuArray};

/// Set before the program is loaded: whether packets find their group by destination. Otherwise all are the first's, and
/// the verifier removes the look-up.
#[unsafe(no_mangle)]
static ROUTED: u32 = 0;

/// Set before the program is loaded: how many groups there can be. The loader sizes the maps.
#[unsafe(no_mangle)]
static GROUPS: u32 = 1;

/// Number of the plans in force.
#[map]
static GENERATION: Array<u32> = Array::with_max_entries(1, 0);

/// Group of each prefix.
#[map]
static ROUTES: LpmTrie<Destination, u32> = LpmTrie::with_max_entries(1, 0);

/// What went by each member of each group.
#[map]
static COUNTERS: PerCpuArray<Counter> = PerCpuArray::with_max_entries(MEMBERS as u32, 0);

/// For user space alone.
#[map]
#[used]
static NAMES: Array<[u8; NAME_BYTES]> = Array::with_max_entries(GENERATIONS, 0);

#[inline(always)]
fn groups() -> u32 {
    // SAFETY: a static of this program; volatile because the loader writes it.
    unsafe { core::ptr::read_volatile(&raw const GROUPS) }
}

/// The group of a destination.
#[inline(always)]
fn group(generation: u32, to: To) -> Option<u32> {
    // SAFETY: as above.
    if unsafe { core::ptr::read_volatile(&raw const ROUTED) } == 0 {
        return Some(0);
    }
    let destination = match to {
        To::V4(address) => Destination::v4(generation, address),
        To::V6(address) => Destination::v6(generation, address),
    };
    ROUTES.get(Key::new(Destination::BITS, destination)).copied()
}

/// Adds the packet to a counter.
#[inline(always)]
pub fn count<H: Hook>(packet: H, counter: u32) {
    if let Some(counter) = COUNTERS.get_ptr_mut(counter) {
        // SAFETY: this processor's own counter.
        unsafe {
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
    let Some(generation) = GENERATION.get(0) else { return H::PASS };
    let generation = *generation % GENERATIONS;
    let find = |to| {
        let group = group(generation, to)?;
        let plan = plans.get(generation * groups() + group)?;
        Some(((group, plan), plan.head.seed))
    };
    let Some(((group, plan), frame)) = frame::read(packet, find) else { return H::PASS };
    if plan.head.up == 0 {
        return H::DROP;
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
    count(packet, group * MEMBERS as u32 + member);
    let Some(&target) = plan.head.targets.get(member as usize) else { return H::DROP };
    packet.leave(&plan.head, &frame, target)
}
