//! Maps of the programs as user space reads and writes them: plain data, plans by the scheme's body, counters summed
//! over processors.

use crate::body::{Arrivals, Body, Scores};
use crate::error::KernelError;
use crate::layout::{
    Counter, Counters, Destination, Gateways, Head, MEMBERS, Plan, SLOTS, SLOTS_LARGE, Turns,
};
use crate::object::Object;
use anabranch_split::picks::{Bounded, rendezvous, score};
use aya::Pod;
use aya::maps::{Array, Map, MapData, PerCpuArray};
use std::borrow::Borrow;
use std::boxed::Box;

/// Problem of maps whose sizes are not this version's. The hint is to remove the folder: its pins are all that holds
/// such a datapath to its devices.
pub(crate) const OTHER_VERSION: &str = "made by another version";

/// A plan's body: plain data in the layout that a program reads.
///
/// # Safety
/// Any bytes are a value of it, and it has no padding that must not be copied.
pub(crate) unsafe trait Layout: Copy + 'static {}

// SAFETY: integers, floats and arrays of them.
unsafe impl Layout for [u8; SLOTS] {}
// SAFETY: as above.
unsafe impl Layout for [u8; SLOTS_LARGE] {}
// SAFETY: as above.
unsafe impl Layout for Bounded<score::Entry, MEMBERS> {}
// SAFETY: as above.
unsafe impl Layout for Bounded<rendezvous::Entry, MEMBERS> {}
// SAFETY: as above.
unsafe impl Layout for Turns {}

/// Plain data for the loader of maps.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Plain<T>(pub(crate) T);

// SAFETY: plans, counters, destinations and gateways are plain data.
unsafe impl<B: Layout> Pod for Plain<Plan<B>> {}
// SAFETY: as above.
unsafe impl Pod for Plain<Counters> {}
// SAFETY: as above.
unsafe impl Pod for Plain<Destination> {}
// SAFETY: as above.
unsafe impl Pod for Plain<Gateways> {}

/// Plans by generation and group.
pub(crate) enum Plans {
    Slots(Array<MapData, Plain<Plan<[u8; SLOTS]>>>),
    SlotsLarge(Array<MapData, Plain<Plan<[u8; SLOTS_LARGE]>>>),
    Scores(Array<MapData, Plain<Plan<Scores>>>),
    Arrivals(Array<MapData, Plain<Plan<Arrivals>>>),
    Turns(Array<MapData, Plain<Plan<Turns>>>),
}

impl Plans {
    pub(crate) fn of(object: Object, map: Map) -> Result<Self, KernelError> {
        let made = match object {
            Object::Slots | Object::Spray | Object::Flowlet => Array::try_from(map).map(Self::Slots),
            Object::SlotsLarge => Array::try_from(map).map(Self::SlotsLarge),
            Object::Score => Array::try_from(map).map(Self::Scores),
            Object::Rendezvous => Array::try_from(map).map(Self::Arrivals),
            Object::Cycle | Object::FlowCycle | Object::Presto => Array::try_from(map).map(Self::Turns),
        };
        made.map_err(KernelError::of(std::format!("eBPF plans: {OTHER_VERSION}")))
    }

    /// Plan at `index`.
    pub(crate) fn get(&self, index: u32) -> Result<(Head, Body), KernelError> {
        let found = match self {
            Self::Slots(map) => {
                map.get(&index, 0).map(|Plain(plan)| (plan.head, Body::Slots(Box::new(plan.body))))
            }
            Self::SlotsLarge(map) => {
                map.get(&index, 0).map(|Plain(plan)| (plan.head, Body::SlotsLarge(Box::new(plan.body))))
            }
            Self::Scores(map) => {
                map.get(&index, 0).map(|Plain(plan)| (plan.head, Body::Scores(Box::new(plan.body))))
            }
            Self::Arrivals(map) => {
                map.get(&index, 0).map(|Plain(plan)| (plan.head, Body::Arrivals(Box::new(plan.body))))
            }
            Self::Turns(map) => {
                map.get(&index, 0).map(|Plain(plan)| (plan.head, Body::Turns(Box::new(plan.body))))
            }
        };
        found.map_err(KernelError::of("eBPF plan"))
    }

    /// Writes to `index`, which no packet may be reading; `body` is of this map's kind.
    pub(crate) fn set(&mut self, index: u32, head: Head, body: &Body) -> Result<(), KernelError> {
        let done = match (self, body) {
            (Self::Slots(map), Body::Slots(body)) => map.set(index, Plain(Plan { head, body: **body }), 0),
            (Self::SlotsLarge(map), Body::SlotsLarge(body)) => {
                map.set(index, Plain(Plan { head, body: **body }), 0)
            }
            (Self::Scores(map), Body::Scores(body)) => map.set(index, Plain(Plan { head, body: **body }), 0),
            (Self::Arrivals(map), Body::Arrivals(body)) => {
                map.set(index, Plain(Plan { head, body: **body }), 0)
            }
            (Self::Turns(map), Body::Turns(body)) => map.set(index, Plain(Plan { head, body: **body }), 0),
            _ => return Err(KernelError::new("eBPF plan", "a body of another scheme")),
        };
        done.map_err(KernelError::of("eBPF plan"))
    }
}

/// Counters of a group's members, summed over all processors.
pub(crate) fn summed<M: Borrow<MapData>>(
    counters: &PerCpuArray<M, Plain<Counters>>,
    group: u32,
) -> Result<Counters, KernelError> {
    let values = counters.get(&group, 0).map_err(|error| KernelError::of("eBPF counters")(&error))?;
    let mut sums = [Counter::default(); MEMBERS];
    for Plain(counters) in values.iter() {
        for (sum, counter) in sums.iter_mut().zip(counters) {
            sum.packets += counter.packets;
            sum.bytes += counter.bytes;
        }
    }
    Ok(sums)
}
