//! A [`Picker`]'s decisions at work in switches.

use crate::Granularity;
use crate::own::picker::{DynEnv, PickedPacket, Picker, View};
use crate::switches::kept::Kept;
use crate::tables::table::{SwitchEnv, stream};
use anabranch_plan::selection_hash;
use anabranch_sim::{
    Address, Choice, GroupPlan, HostBalancer, Junction, Network, Opened, Packet, PacketId, SwitchBalancer,
    connection_slot,
};
use anabranch_split::{Env, Pick, PlanError, capability, picks};
use rand_pcg::Pcg32;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

/// Message that each connection carries, by the connection's slot: hosts write it, switches read it.
type FlowBook = Rc<RefCell<Vec<Option<Opened>>>>;

/// Asks a picker wherever there is a choice.
pub(crate) struct PickedBalancer<'a> {
    picker: &'a mut dyn Picker,
    granularity: Granularity,
    /// Node of the first switch.
    first_switch: u32,
    groups: Vec<Group>,
    switches: Vec<(u32, Pcg32)>,
    flows: FlowBook,
}

#[derive(Clone)]
struct Group {
    usable: Box<[bool]>,
    kept: Kept,
}

impl<'a> PickedBalancer<'a> {
    pub(crate) fn new(
        picker: &'a mut dyn Picker,
        granularity: Granularity,
        first_switch: u32,
        salts: &[u32],
        seed: u64,
    ) -> Self {
        let switches = (0..).zip(salts).map(|(switch, &salt)| (salt, stream(seed, switch))).collect();
        Self { picker, granularity, first_switch, groups: Vec::new(), switches, flows: FlowBook::default() }
    }

    /// Host balancer by which switches know whose packets they see.
    pub(crate) fn edge(&self) -> Box<dyn HostBalancer> {
        Box::new(FlowScribe(Rc::clone(&self.flows)))
    }

    /// The packet as the picker is shown it.
    fn shown(&self, packet: &Packet) -> PickedPacket {
        let flows = self.flows.borrow();
        let opened = flows.get(connection_slot(packet.connection)).copied().flatten().unwrap_or_default();
        PickedPacket::of(&opened, packet)
    }
}

impl SwitchBalancer for PickedBalancer<'_> {
    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, heir_of, .. } = asked;
        let heir = heir_of.and_then(|heir| self.groups.get(heir as usize));
        let mut kept = match heir {
            Some(heir) => heir.kept.clone(),
            None => Kept::new(self.granularity, ports.len(), false),
        };
        for (member, _) in (0..).zip(weights).filter(|&(_, &weight)| weight == 0) {
            kept.purge(member);
        }
        let next = Group { usable: weights.iter().map(|&weight| weight > 0).collect(), kept };
        match self.groups.get_mut(group as usize) {
            Some(known) => *known = next,
            None => self.groups.push(next),
        }
        Ok(())
    }

    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let packet = *network.packet(id);
        let shown = self.shown(&packet);
        let (salt, stream) = &mut self.switches[at.switch as usize];
        let mut asked = picks::Packet {
            flow: u64::from(packet.connection) << 32 | u64::from(selection_hash(packet.entropy, *salt)),
            bytes: packet.frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let Group { usable, kept } = &mut self.groups[at.group as usize];
        let mut question = Question {
            picker: &mut *self.picker,
            packet: shown,
            switch: self.first_switch + at.switch,
            group: at.group,
            ports: at.ports,
            usable,
        };
        let mut env = SwitchEnv { network, ports: at.ports, stream };
        let member =
            kept.pick::<Asked<'_>, _>(self.granularity, packet.seq, &(), &mut question, &mut asked, &mut env);
        Choice::Member(member.min(at.ports.len() as u16 - 1))
    }
}

/// The scheme that asks a picker.
struct Asked<'a>(PhantomData<&'a ()>);

/// Whom it asks, about what.
struct Question<'a> {
    picker: &'a mut dyn Picker,
    packet: PickedPacket,
    switch: u32,
    group: u32,
    ports: &'a [u32],
    usable: &'a [bool],
}

impl<'a> Pick for Asked<'a> {
    const NAME: &'static str = "picker";
    const NEEDS: u32 = capability::CLOCK | capability::RANDOM | capability::BACKLOG;
    type Plan = ();
    type State = Question<'a>;
    type Feedback = ();

    fn pick<E: Env>(
        _plan: &(),
        question: &mut Question<'a>,
        _packet: &mut picks::Packet,
        env: &mut E,
    ) -> u16 {
        let Question { picker, packet, switch, group, ports, usable } = question;
        let env: &mut dyn DynEnv = env;
        picker.pick(packet, &mut View { switch: *switch, group: *group, ports, usable, env })
    }
}

/// Writes down what each connection carries.
struct FlowScribe(FlowBook);

impl HostBalancer for FlowScribe {
    fn send(&mut self, _from: &Address, _packet: &mut Packet, _network: &mut Network) {}

    fn opened(&mut self, _host: u32, flow: &Opened, _network: &mut Network) {
        let mut flows = self.0.borrow_mut();
        let slot = connection_slot(flow.connection);
        if flows.len() <= slot {
            flows.resize(slot + 1, None);
        }
        flows[slot] = Some(*flow);
    }
}
