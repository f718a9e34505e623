//! Hosts: flows begin, packets reach their connection, flows end.

mod announcements;
mod arrivals;
mod attention;
mod census;
mod closings;
mod counters;
mod credits;
mod ends;
mod entropy;
mod flow_table;
mod foresight;
mod kept_apart;
mod messages;
mod multipath;
mod names;
mod opening;
mod queue_pairs;
mod remote;
mod replay;
mod starts;
mod streams;
mod wakes;
mod windows;
mod work;

use crate::connections::Connections;
use crate::jobs::AwaitedJobs;
use crate::network::Network;
use crate::pinning::Pins;
use crate::timers::Timer;
use crate::transport::Transport;
use crate::transport::uec::Pacer;
use crate::{FlowRecord, Framing, Settings, SimulationError, WindowSample};
use anabranch_fabric::Fabric;
use anabranch_split::picks::mix;
use anabranch_traffic::FlowSource;
pub(crate) use census::Step;
pub(crate) use closings::Next;
use counters::Refused;
use flow_table::{CHUNK_BITS, FlowTable};
use foresight::Foreseen;
use messages::Messages;
use multipath::Multipaths;
use queue_pairs::Striped;
use remote::Remote;
pub(crate) use remote::RemoteOutcome;
pub(crate) use replay::Phase;
use replay::Replaying;
use std::collections::HashMap;
use streams::Streams;
use work::Works;

/// All hosts and what they do.
pub(crate) struct Hosts<'a> {
    transports: Vec<Transport>,
    framing: Framing,
    salt: u32,
    flows: FlowTable<'a>,
    /// Whether flows begin in the order of their numbers, so that a chunk of them can be loaded after the other.
    in_order: bool,
    pins: Pins,
    /// Port of each host.
    port_of: Vec<u32>,
    connections: Connections,
    /// Pacer of each host's grants of credit; none if no transport needs credit.
    pacers: Vec<Pacer>,
    multipaths: Multipaths,
    /// Messages over queue pairs that are not theirs alone.
    striped: Striped,
    /// Messages of graphs that follow each other on connections.
    streams: Streams,
    /// Flows that wait for another: `(awaited, waiting)`, sorted.
    waiting: Vec<(u32, u32)>,
    /// Jobs that flows wait for.
    awaited_jobs: AwaitedJobs,
    /// Graphs whose messages are flows.
    works: Works,
    /// Messages of graphs that repeat, if they are replayed.
    replaying: Option<Box<Replaying>>,
    foreseen: Foreseen,
    pub(crate) begun: u64,
    pub(crate) finished: u64,
    /// Flows that have begun, or will at a time that is known, and may yet finish.
    pub(crate) hopeful: u64,
    /// The simulation goes on while [`Self::hopeful`] is more than this.
    pub(crate) hopeful_least: u64,
    /// Flows that a driver sent.
    pub(crate) messages: Messages,
    pub(crate) refused: Refused,
    /// Window and rate of each flow that is watched as they were written down last; `None` before the first time.
    watched: HashMap<u32, Option<windows::Stated>>,
    pub(crate) windows: Vec<WindowSample>,
    /// Flows of each connection that ended while segments of theirs were under way, each with the position of
    /// its first byte in the stream, ascending.
    past: HashMap<u32, Vec<(u64, u32)>>,
    /// Connections of flows of MPTCP that ended so.
    past_subflows: HashMap<u32, Vec<u32>>,
    /// Connections with a half in another part, where this is a part of a fabric.
    pub(crate) remote: Option<Box<Remote>>,
}

impl<'a> Hosts<'a> {
    pub(crate) fn new<C>(
        fabric: &Fabric,
        flows: &'a dyn FlowSource,
        pins: Pins,
        settings: &Settings<C>,
    ) -> Self {
        let outline = flows.outline();
        let (waiting, awaited_jobs) = if outline.in_order {
            Default::default()
        } else {
            (starts::waiting(flows), AwaitedJobs::of(flows))
        };
        let (seed, observe) = (settings.seed, &settings.observe);
        let mut transports = settings.transports.clone();
        for transport in &mut transports {
            transport.protocol_mut().set_times(fabric, &settings.changes, settings.framing);
        }
        Self {
            transports,
            framing: settings.framing,
            salt: mix::finalise(seed as u32 ^ mix::finalise((seed >> 32) as u32)),
            flows: FlowTable::new(flows, outline.flows as usize, observe.omit_ps > 0, CHUNK_BITS),
            in_order: outline.in_order,
            pins,
            port_of: (0..fabric.hosts()).map(|host| fabric.ports_of(host)[0]).collect(),
            connections: Connections::default(),
            pacers: credits::pacers(&settings.transports, fabric.hosts()),
            multipaths: Multipaths::default(),
            striped: Striped::default(),
            streams: Streams::default(),
            waiting,
            awaited_jobs,
            foreseen: Foreseen::default(),
            begun: 0,
            finished: 0,
            hopeful: 0,
            hopeful_least: 0,
            messages: Messages::default(),
            refused: Refused::default(),
            works: Works::new(&settings.works, flows),
            replaying: settings.replay.map(|replay| {
                let leaves = (0..fabric.hosts()).map(|host| fabric.leaf_of(host)).collect();
                Box::new(Replaying::new(replay, leaves))
            }),
            watched: observe.window_flows.iter().map(|&flow| (flow, None)).collect(),
            windows: Vec::new(),
            past: HashMap::new(),
            past_subflows: HashMap::new(),
            remote: None,
        }
    }

    /// Records of the flows by number, unless a sink took them.
    pub(crate) fn into_records(mut self) -> Result<(Vec<FlowRecord>, Vec<WindowSample>), SimulationError> {
        self.windows.sort_by_key(WindowSample::rank);
        Ok((self.flows.finish()?, self.windows))
    }

    pub(crate) fn timer(&mut self, timer: Timer, network: &mut Network) -> Result<(), SimulationError> {
        self.foresee_timers(timer, network);
        match timer {
            Timer::Start(flow) => return self.begin(flow, network),
            Timer::Sender(_, name) => self.wake_sender(name, network),
            Timer::Receiver(_, name) => self.wake_receiver(name, network),
            Timer::Work(number) => self.work_due(number, network),
            Timer::Replay(flow) => return self.replay(flow, network),
            Timer::Pacer(host) => self.grant(host, network),
            Timer::SwitchBalancer(..) | Timer::HostBalancer(..) | Timer::Pause(..) => {}
        }
        Ok(())
    }

    /// Port of each host.
    pub(crate) fn port_of(&self) -> &[u32] {
        &self.port_of
    }

    pub(crate) fn connections_peak(&self) -> usize {
        self.connections.peak()
    }
}
