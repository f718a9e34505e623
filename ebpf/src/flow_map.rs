//! The kernel's map of least recently used flows as a scheme's memory of flows.

use anabranch_split::picks::Flows;
use aya_ebpf::maps::LruHashMap;

/// Flows remembered.
pub const FLOWS: u32 = 1 << 16;

/// Memory of one flow.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Known<N> {
    /// The scheme's own.
    pub note: N,
    /// Its member.
    pub member: u64,
}

/// Flows in `0`. The kernel forgets the least recently used by itself, so nothing is swept.
pub struct FlowMap<N: 'static>(pub &'static LruHashMap<u64, Known<N>>);

impl<N: Copy> Flows for FlowMap<N> {
    type Note = N;

    #[inline(always)]
    fn get(&self, flow: u64) -> Option<(u16, N)> {
        // SAFETY: a flow's packets are steered to one processor; at worst a note is a packet old.
        unsafe { self.0.get(flow) }.map(|known| (known.member as u16, known.note))
    }

    #[inline(always)]
    fn upsert<D>(&mut self, flow: u64, decide: D) -> u16
    where
        D: FnOnce(Option<(u16, N)>) -> (u16, N),
    {
        let slot = self.0.get_ptr_mut(flow);
        // SAFETY: as above.
        let known = slot.map(|slot| unsafe { ((*slot).member as u16, (*slot).note) });
        let (member, note) = decide(known);
        let now = Known { note, member: member.into() };
        match slot {
            // SAFETY: as above; a place that was given to another flow meanwhile is wrong for one packet.
            Some(slot) => unsafe { *slot = now },
            None => {
                // A full map makes room by itself; should it fail, the flow is unknown once more.
                let _ = self.0.insert(flow, now, 0);
            }
        }
        member
    }

    #[inline(always)]
    fn sweep<O, F>(&mut self, _places: usize, _over: O, _freed: F)
    where
        O: Fn(u16, &N) -> bool,
        F: FnMut(u16),
    {
    }

    fn len(&self) -> usize {
        0
    }

    fn slots(&self) -> usize {
        0
    }

    fn bytes(&self) -> usize {
        0
    }
}
