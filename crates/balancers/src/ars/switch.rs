//! ARS at work: every switch samples its ports to other switches and sends flowlets or packets by those of the best quality.

use crate::ars::load::{BEST, Load};
use crate::ars::pick::{Any, Best, Mode, Parameters, Qualities};
use crate::switches::port_env::{PortEnv, Usable, numbers, stream};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::selection_hash;
use anabranch_sim::{Choice, GroupPlan, Junction, Network, Packet, PacketId, SwitchBalancer};
use anabranch_split::picks::byte_deficit::Boundary;
use anabranch_split::picks::{FlowTable, Flowlet, Pick, units};
use anabranch_split::{PlanError, capability, picks};
use rand_pcg::Pcg32;

/// Bits of [`capability`] that it cannot do without.
pub(crate) const NEEDS: u32 = <Best<Bands<'_, Unknown>>>::NEEDS | Flowlet::NEEDS | capability::BACKLOG;

/// Token of the timer of samples.
const SAMPLE: u32 = 0;
/// Token of the timer of what a switch tells its neighbours.
const TELL: u32 = 1;

/// What a switch knows of the links behind its neighbours.
pub(crate) trait Downstream {
    /// Time between two messages of a switch to its neighbours, in nanoseconds; `None` if it sends none.
    fn period_ns(&self) -> Option<u64>;

    /// Best band of the links by which the switch behind `port` reaches a leaf.
    fn band(&self, port: u32, leaf: u32) -> u8;

    /// A switch tells a neighbour the bands of its links to switches; `port` leads to the neighbour.
    fn tell(&self, port: u32, bands: &[u8], network: &mut Network);

    /// A message came by the link of port `from`.
    fn hear(&mut self, from: u32, message: &Packet);

    /// Routing believes the links to be so.
    fn learn(&mut self, links: &LinkState);
}

/// Nothing.
pub(crate) struct Unknown;

impl Downstream for Unknown {
    fn period_ns(&self) -> Option<u64> {
        None
    }

    #[inline(always)]
    fn band(&self, _port: u32, _leaf: u32) -> u8 {
        BEST
    }

    fn tell(&self, _port: u32, _bands: &[u8], _network: &mut Network) {}

    fn hear(&mut self, _from: u32, _message: &Packet) {}

    fn learn(&mut self, _links: &LinkState) {}
}

/// All switches.
pub(crate) struct Ars<D> {
    parameters: Parameters,
    downstream: D,
    switches: Vec<Switch>,
    /// Number of each port among its switch's links to switches.
    number: Vec<u16>,
    usable: Usable,
}

/// One switch.
struct Switch {
    /// Ports to switches, and for each its load, its band and the bytes that it had sent at the last sample.
    ports: Box<[u32]>,
    loads: Box<[Load]>,
    bands: Box<[u8]>,
    sent_bytes: Box<[u64]>,
    flows: FlowTable<u64>,
    salt: u32,
    stream: Pcg32,
}

/// Qualities of a switch's ports.
pub(crate) struct Bands<'a, D> {
    ports: &'a [u32],
    bands: &'a [u8],
    downstream: &'a D,
}

impl<D: Downstream> Qualities for Bands<'_, D> {
    #[inline(always)]
    fn members(&self) -> u16 {
        self.ports.len() as u16
    }

    #[inline(always)]
    fn band(&self, number: u16, leaf: u32) -> u8 {
        let number = usize::from(number);
        self.bands[number].min(self.downstream.band(self.ports[number], leaf))
    }
}

impl<D: Downstream> Ars<D> {
    pub(crate) fn new(
        parameters: Parameters,
        downstream: D,
        fabric: &Fabric,
        salts: &[u32],
        seed: u64,
    ) -> Self {
        let hosts = fabric.hosts();
        let between = |port: u32| {
            let port = &fabric.ports()[port as usize];
            port.from >= hosts && port.to >= hosts
        };
        let switch = |(index, &salt): (u32, &u32)| {
            let ports: Box<[u32]> =
                fabric.ports_of(hosts + index).iter().copied().filter(|&port| between(port)).collect();
            Switch {
                loads: vec![Load::default(); ports.len()].into(),
                bands: vec![BEST; ports.len()].into(),
                sent_bytes: vec![0; ports.len()].into(),
                ports,
                flows: FlowTable::default(),
                salt,
                stream: stream(seed, "ars", index),
            }
        };
        Self {
            parameters,
            downstream,
            switches: (0..).zip(salts).map(switch).collect(),
            number: numbers(fabric, between),
            usable: Usable::default(),
        }
    }

    /// Takes a sample of each port.
    fn sample(&mut self, switch: u32, network: &mut Network) {
        let profile = &self.parameters.profile;
        let Switch { ports, loads, bands, sent_bytes, .. } = &mut self.switches[switch as usize];
        for (index, &port) in ports.iter().enumerate() {
            let sent = network.sent_bytes(port);
            let since = sent - std::mem::replace(&mut sent_bytes[index], sent);
            loads[index].sample(profile, since, network.backlog_bytes(port).into());
            let full = u128::from(network.rate_bps(port)) * u128::from(profile.sampling_ns) / 8_000_000_000;
            bands[index] = loads[index].quality(profile, full as u64);
        }
    }
}

impl<D: Downstream> SwitchBalancer for Ars<D> {
    const PROBES: bool = true;

    fn plan(&mut self, asked: &GroupPlan<'_>) -> Result<(), PlanError> {
        let &GroupPlan { group, ports, weights, .. } = asked;
        self.usable.plan(group, ports, weights, &self.number);
        Ok(())
    }

    #[inline]
    fn choose(&mut self, at: &Junction<'_>, id: PacketId, network: &mut Network) -> Choice {
        let Parameters { mode, idle_ns, flows: entries, .. } = self.parameters;
        let now_ns = network.now_ns();
        let Packet { connection, entropy, frame_bytes, .. } = *network.packet(id);
        let usable = &self.usable;
        let Switch { ports, bands, flows, salt, stream, .. } = &mut self.switches[at.switch as usize];
        let hash = selection_hash(entropy, *salt);
        let flow = if entries == 0 {
            u64::from(connection) << 32 | u64::from(hash)
        } else {
            u64::from(at.group) << 32 | u64::from(hash % entries)
        };
        let mut asked = picks::Packet {
            flow,
            bytes: frame_bytes.into(),
            destination: at.leaf,
            ..picks::Packet::default()
        };
        let bands = Bands { ports, bands, downstream: &self.downstream };
        let live = |port: u16| {
            let member = usable.member(at.group, port);
            member.is_some_and(|member| network.is_up(at.ports[usize::from(member)]))
        };
        let mut env = PortEnv { now_ns, stream, up: live };
        let flowlet = Flowlet { gap_ns: if mode == Mode::Fixed { u64::MAX } else { idle_ns } };
        let chosen = match mode {
            Mode::FlowletQuality | Mode::Fixed => {
                units::pick::<_, Best<_>, _, _>(&flowlet, &bands, flows, &mut (), &mut asked, &mut env)
            }
            Mode::FlowletRandom => {
                units::pick::<_, Any<_>, _, _>(&flowlet, &bands, flows, &mut (), &mut asked, &mut env)
            }
            Mode::PacketQuality => picks::pick::<Best<_>, _>(&bands, &mut (), &mut asked, &mut env),
            Mode::PacketRandom => picks::pick::<Any<_>, _>(&bands, &mut (), &mut asked, &mut env),
        };
        usable.member(at.group, chosen).map_or(Choice::NoPath, Choice::Member)
    }

    fn begin(&mut self, switch: u32, network: &mut Network) {
        if !self.parameters.mode.measures() || self.switches[switch as usize].ports.is_empty() {
            return;
        }
        network.wake_switch(self.parameters.profile.sampling_ns * 1000, switch, SAMPLE);
        if let Some(period_ns) = self.downstream.period_ns() {
            network.wake_switch(period_ns * 1000, switch, TELL);
        }
    }

    fn timer(&mut self, switch: u32, token: u32, network: &mut Network) {
        let period_ns = if token == SAMPLE {
            self.sample(switch, network);
            self.parameters.profile.sampling_ns
        } else {
            let Switch { ports, bands, .. } = &self.switches[switch as usize];
            for &port in ports.iter().filter(|&&port| network.is_up(port)).collect::<Vec<_>>() {
                self.downstream.tell(port, bands, network);
            }
            self.downstream.period_ns().unwrap_or(u64::MAX / 1000)
        };
        network.wake_switch(network.now_ps() + period_ns * 1000, switch, token);
    }

    fn probe(&mut self, _switch: u32, from: u32, _onward: Option<u32>, id: PacketId, network: &mut Network) {
        let message = *network.packet(id);
        network.consume(id);
        self.downstream.hear(from, &message);
    }

    fn links_changed(&mut self, links: &LinkState, _network: &mut Network) {
        self.downstream.learn(links);
    }
}
