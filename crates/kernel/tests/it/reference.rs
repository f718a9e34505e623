//! Picks of the library for the packets that a program in the kernel sees: the same schemes over the library's own memory.

use anabranch_balancers::presto::pick::{self as presto, Presto};
use anabranch_kernel::body::Body;
use anabranch_kernel::layout::{Head, Turns};
use anabranch_kernel::{Group, Object};
use anabranch_split::picks::{
    Cycle, FlowCycle, FlowTable, Flowcell, Flowlet, List, Rendezvous, Score, Slots, flow_cycle, flowcell,
    mix, rendezvous, score, units,
};
use anabranch_split::{Env, Packet, capability, pick};
use std::collections::BTreeMap;

/// The environment of a replaying program.
struct Replay {
    now_ns: u64,
    random: u32,
    drawn: u16,
    up: u64,
}

impl Env for Replay {
    const GIVES: u32 = capability::KERNEL;

    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn random_u32(&mut self) -> u32 {
        self.drawn += 1;
        mix::value(self.random, mix::salt(self.drawn))
    }

    fn up(&self, member: u16) -> bool {
        self.up >> member & 1 != 0
    }
}

/// A scheme with what it remembers, for several groups.
pub(crate) struct Reference {
    object: Object,
    /// Flowlets by group: each has a gap of its own, after which the table forgets.
    flowlets: Vec<FlowTable<u64>>,
    counters: FlowTable<flow_cycle::Counter>,
    sent: BTreeMap<u64, (u64, presto::State)>,
    turns: Vec<u32>,
}

impl Reference {
    pub(crate) fn new(object: Object, groups: usize) -> Self {
        Self {
            object,
            flowlets: (0..groups).map(|_| FlowTable::default()).collect(),
            counters: FlowTable::default(),
            sent: BTreeMap::new(),
            turns: vec![0; groups],
        }
    }

    /// The member that a packet of a group goes by; none where nobody lives.
    pub(crate) fn pick(
        &mut self,
        number: usize,
        (group, body): &(Group, Body),
        packet: &mut Packet,
        now_ns: u64,
        random: u32,
    ) -> Option<u16> {
        let Head { up, pause_ns, .. } = group.head();
        if up == 0 {
            return None;
        }
        packet.flow |= (number as u64) << 32;
        let env = &mut Replay { now_ns, random, drawn: 0, up };
        Some(match (self.object, body) {
            (Object::Slots, Body::Slots(table)) => pick::<Slots<u8, 4096>, _>(table, &mut (), packet, env),
            (Object::SlotsLarge, Body::SlotsLarge(table)) => {
                pick::<Slots<u8, 65536>, _>(table, &mut (), packet, env)
            }
            (Object::Spray, Body::Slots(table)) => {
                packet.flow = env.random_u32().into();
                pick::<Slots<u8, 4096>, _>(table, &mut (), packet, env)
            }
            (Object::Flowlet, Body::Slots(table)) => {
                let (boundary, flows) = (Flowlet { gap_ns: pause_ns }, &mut self.flowlets[number]);
                units::pick::<_, Slots<u8, 4096>, _, _>(&boundary, table, flows, &mut (), packet, env)
            }
            (Object::Score, Body::Scores(entries)) => {
                let mut living: Vec<score::Entry> = Vec::new();
                entries.each(|&entry| living.push(entry));
                pick::<Score, _>(&living[..], &mut (), packet, env)
            }
            (Object::Rendezvous, Body::Arrivals(entries)) => {
                let mut living: Vec<rendezvous::Entry> = Vec::new();
                entries.each(|&entry| living.push(entry));
                pick::<Rendezvous, _>(&living[..], &mut (), packet, env)
            }
            (Object::Cycle, Body::Turns(turns)) => {
                pick::<Cycle, _>(&listed(turns)[..], &mut self.turns[number], packet, env)
            }
            (Object::FlowCycle, Body::Turns(turns)) => {
                // The kernel's map forgets by itself whom it has no room for, and nobody else.
                let (turns, start) = (listed(turns), flow_cycle::Start::Random);
                let plan = flow_cycle::Plan { turns: &turns[..], start, idle_ns: u64::MAX };
                pick::<FlowCycle<&[u16], _>, _>(&plan, &mut self.counters, packet, env)
            }
            (Object::Presto, Body::Turns(turns)) => {
                let (bytes, state) = self.sent.entry(packet.flow).or_default();
                packet.cell = flowcell::number(*bytes, Flowcell::BYTES.into()) as u32;
                *bytes += u64::from(packet.bytes);
                // Its plan lists the living alone.
                env.up = u64::MAX;
                pick::<Presto, _>(&listed(turns)[..], state, packet, env)
            }
            _ => panic!("{}: a body of another scheme", self.object.name()),
        })
    }
}

fn listed(turns: &Turns) -> Vec<u16> {
    let mut list = Vec::new();
    turns.each(|&turn| list.push(turn));
    list
}
