//! The kernel's map of plans, whose entries are as large as the scheme's body.

use crate::body::{Arrivals, Body, Scores};
use crate::datapath::OTHER_VERSION;
use crate::error::KernelError;
use crate::layout::{Head, Plan, SLOTS, SLOTS_LARGE, Turns};
use crate::program::{Plain, Scheme};
use aya::maps::{Array, Map, MapData};
use std::boxed::Box;

/// Plans by generation and group.
pub(crate) enum Plans {
    Slots(Array<MapData, Plain<Plan<[u8; SLOTS]>>>),
    SlotsLarge(Array<MapData, Plain<Plan<[u8; SLOTS_LARGE]>>>),
    Scores(Array<MapData, Plain<Plan<Scores>>>),
    Arrivals(Array<MapData, Plain<Plan<Arrivals>>>),
    Turns(Array<MapData, Plain<Plan<Turns>>>),
}

impl Plans {
    pub(crate) fn of(scheme: Scheme, map: Map) -> Result<Self, KernelError> {
        let made = match scheme {
            Scheme::Slots | Scheme::Spray | Scheme::Flowlet => Array::try_from(map).map(Self::Slots),
            Scheme::SlotsLarge => Array::try_from(map).map(Self::SlotsLarge),
            Scheme::Score => Array::try_from(map).map(Self::Scores),
            Scheme::Rendezvous => Array::try_from(map).map(Self::Arrivals),
            Scheme::Cycle | Scheme::FlowCycle | Scheme::Presto => Array::try_from(map).map(Self::Turns),
        };
        made.map_err(KernelError::of(std::format!("eBPF plans: {OTHER_VERSION}")))
    }

    /// What stands at `index`.
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
