//! The simulation: takes the earliest event, lets it happen, until the flows are done.

mod change;
mod driven;
mod foresight;
mod intervals;
mod merge;
mod parts;
mod replay;
mod sums;

pub use parts::{Balancers, simulate_in_parts};

use crate::control::{Control, Schedule};
use crate::door::HostBalancer;
use crate::door::SwitchBalancer;
use crate::forwarding::{Forwarding, Step};
use crate::headers::Headers;
use crate::hosts::Hosts;
use crate::network::recorder::records;
use crate::network::{Network, source};
use crate::pinning::pin;
use crate::sync::Ordering;
use crate::timers::Timer;
use crate::transport::Transport;
use crate::walk::check_hashes;
use crate::{Kind, Outcome, PortRecord, Progress, QueueSample, Settings, SimulationError, Totals};
use anabranch_fabric::{Fabric, LinkState};
use anabranch_plan::Weighing;
use anabranch_split::picks::mix;
use anabranch_traffic::FlowSource;
use intervals::Silence;
use parts::Part;
use replay::Carriage;

/// Events between two looks at [`Progress`].
const EVENTS_PER_REPORT: u64 = 1 << 16;

/// Packets, or connections, that caches hold.
const CROWD: usize = 1 << 14;

/// One run of the engine.
pub struct Simulation<'a, B: SwitchBalancer> {
    fabric: &'a Fabric,
    end_ps: u64,
    queue_ports: Vec<u32>,
    network: Network,
    forwarding: Forwarding<B>,
    hosts: Hosts<'a>,
    schedule: Schedule,
    /// The state of the links as it is.
    links: LinkState,
    /// The state of the links as routing believes it to be.
    believed: LinkState,
    /// Blackhole of each switch: packets whose hash is below this are dropped. Empty until there is one.
    blackholes: Vec<u64>,
    hosts_count: u32,
    events: u64,
    /// Events until the next look at [`Progress`].
    until_report: u64,
    interval_start_ps: u64,
    silence: Silence,
    /// Whether there are more packets or connections than caches hold, so that fetching them ahead of time pays.
    crowded: bool,
    /// Whether there are so many ports that fetching them ahead of time pays.
    wide: bool,
    /// Port to which the last packet was forwarded that reached a switch.
    forwarded_to: u32,
    port_records: Vec<PortRecord>,
    /// Number of port records that stand in [`Progress`], or stood there until somebody took them.
    ports_reported: usize,
    queue_samples: Vec<QueueSample>,
    /// Counts of ports while messages are carried, where some are replayed.
    carriage: Option<Box<Carriage>>,
    /// The part of the fabric that this simulates, if it is not the whole.
    part: Option<Box<Part>>,
}

impl<'a, B: SwitchBalancer> Simulation<'a, B> {
    /// A run of `flows` over `fabric`: `balancer` decides in switches among next hops that weigh as `weighing` says,
    /// and `host`, if there is one, in hosts.
    ///
    /// # Errors
    /// Flows pinned to paths that do not exist, and weights that the load balancer cannot hold.
    pub fn new<C>(
        balancer: B,
        host: Option<Box<dyn HostBalancer>>,
        weighing: Weighing,
        fabric: &'a Fabric,
        flows: &'a dyn FlowSource,
        settings: &Settings<C>,
    ) -> Result<Self, SimulationError> {
        check_hashes(&balancer, host.as_deref(), settings)?;
        let forwarding = Forwarding::new(fabric, weighing, balancer)?;
        let mut network = Network::new(fabric, settings.framing, &settings.nic, settings.seed);
        network.host_balancer = host;
        network.telemetry = settings.transports.iter().any(Transport::reads_telemetry).then(Box::default);
        network.headers = (!settings.switch_hashes.is_empty())
            .then(|| Box::new(Headers::new(settings.switch_hashes.clone(), settings.seed)));
        network.record(&settings.observe);
        let hosts = Hosts::new(fabric, flows, pin(fabric, flows)?, settings);
        Ok(Self {
            fabric,
            end_ps: settings.end_ps,
            queue_ports: settings.observe.queue_ports.clone(),
            network,
            forwarding,
            hosts,
            schedule: Schedule::new(settings),
            links: LinkState::of(fabric),
            believed: LinkState::of(fabric),
            blackholes: Vec::new(),
            hosts_count: fabric.hosts(),
            events: 0,
            until_report: EVENTS_PER_REPORT,
            interval_start_ps: 0,
            silence: Silence::default(),
            crowded: false,
            wide: fabric.ports().len() >= foresight::PORTS_MIN,
            forwarded_to: 0,
            port_records: Vec::new(),
            ports_reported: 0,
            queue_samples: Vec::new(),
            carriage: settings.replay.map(|_| Box::default()),
            part: None,
        })
    }

    /// Runs until the flows are done, time is over or `progress` is cancelled.
    ///
    /// # Errors
    /// Weights after a change that the load balancer cannot hold, and records that the sink of `progress` cannot take.
    pub fn run(&mut self, progress: &Progress) -> Result<(), SimulationError> {
        self.begin(progress)?;
        self.go_on(self.end_ps.min(self.network.queue.horizon_ps()), progress)
    }

    /// Sets what happens first.
    fn begin(&mut self, progress: &Progress) -> Result<(), SimulationError> {
        let switches = self.fabric.nodes().len() as u32 - self.hosts_count;
        for switch in 0..switches {
            self.forwarding.balancer.begin(switch, &mut self.network);
        }
        self.network.with_host_balancer(|balancer, network| {
            (0..self.hosts_count).for_each(|host| balancer.begin(host, network));
        });
        self.schedule_control();
        self.hosts.schedule(progress.take_sink(), &mut self.network)
    }

    /// Lets events happen up to `end_ps`, that time included, unless the hosts have less to hope for or `progress` is
    /// cancelled before.
    fn go_on(&mut self, end_ps: u64, progress: &Progress) -> Result<(), SimulationError> {
        let mut until_report = self.until_report;
        while self.hosts.hopeful > self.hosts.hopeful_least {
            let Some((now_ps, source)) = self.network.queue.first() else { break };
            if now_ps > end_ps {
                self.network.now_ps = end_ps;
                break;
            }
            debug_assert!(now_ps >= self.network.now_ps, "time runs back");
            self.network.now_ps = now_ps;
            until_report -= 1;
            if until_report == 0 {
                self.events += EVENTS_PER_REPORT;
                until_report = EVENTS_PER_REPORT;
                self.until_report = until_report;
                self.report(progress);
                if progress.is_cancelled() {
                    break;
                }
                self.crowded = self.is_crowded();
                self.network.attention |= self.crowded;
            }
            if source >= source::PORTS {
                self.arrive(source - source::PORTS);
            } else if source == source::TIMERS {
                self.timer()?;
            } else if source == source::CARDS {
                self.hosts.serve_card(&mut self.network);
            } else {
                let control = self.schedule.take();
                self.control(control)?;
                self.schedule_control();
            }
            if self.wide {
                self.foresee_ports(source);
            }
            if self.network.attention {
                self.attend(source);
            }
        }
        self.until_report = until_report;
        self.report(progress);
        Ok(())
    }

    fn timer(&mut self) -> Result<(), SimulationError> {
        match self.network.due() {
            Some(Timer::SwitchBalancer(switch, token)) => {
                self.forwarding.balancer.timer(switch, token, &mut self.network);
            }
            Some(Timer::HostBalancer(host, token)) => {
                self.network.with_host_balancer(|balancer, network| balancer.timer(host, token, network));
            }
            Some(Timer::Pause(port, class)) => {
                if let Some(circle) = self.network.refresh_pause(port, class) {
                    return Err(self.deadlock(&circle));
                }
            }
            Some(timer) => self.hosts.timer(timer, &mut self.network)?,
            None => {}
        }
        Ok(())
    }

    /// Names the ports of a circle of pauses.
    #[cold]
    fn deadlock(&self, circle: &[u32]) -> SimulationError {
        let name = |&port: &u32| {
            let port = &self.fabric.ports()[port as usize];
            [port.from, port.to].map(|node| self.fabric.nodes()[node as usize].name.as_str()).join(" -> ")
        };
        let ports: Vec<String> = circle.iter().map(name).collect();
        SimulationError::new(
            format!(
                "deadlock at {} us: paused ports wait for each other, and nothing moves: {}",
                self.network.now_ps / 1_000_000,
                ports.join(", ")
            ),
            "route without circles (up and then down), or make the class lossy",
        )
    }

    fn is_crowded(&self) -> bool {
        self.network.packets.len() > CROWD || self.hosts.connections_open() > CROWD
    }

    fn events_so_far(&self) -> u64 {
        self.events + EVENTS_PER_REPORT - self.until_report
    }

    fn report(&mut self, progress: &Progress) {
        progress.now_ps.store(self.network.now_ps, Ordering::Relaxed);
        progress.events.store(self.events_so_far(), Ordering::Relaxed);
        progress.flows_begun.store(self.hosts.begun, Ordering::Relaxed);
        progress.flows_finished.store(self.hosts.finished, Ordering::Relaxed);
        self.ports_reported = progress.offer_ports(&self.port_records, self.ports_reported);
    }

    /// A packet reaches the other end of a port's link.
    #[inline(always)]
    fn arrive(&mut self, port: usize) {
        let Some((node, id)) = self.network.arrival(port) else { return };
        if node < self.hosts_count {
            self.hosts.deliver(id, &mut self.network);
            return;
        }
        if !self.blackholes.is_empty() {
            let hash = mix::finalise(self.network.ideal_entropy(id) ^ node);
            if u64::from(hash) < self.blackholes[(node - self.hosts_count) as usize] {
                self.network.blackhole(id);
                return;
            }
        }
        let switch = node - self.hosts_count;
        let packet = self.network.packets.get(id);
        if B::PROBES && packet.kind == Kind::Probe {
            self.network.probe_link_bytes += u64::from(packet.frame_bytes);
            self.forwarding.probe(switch, port as u32, id, &mut self.network);
            return;
        }
        match self.forwarding.forward(switch, id, &mut self.network) {
            Step::Port(port) => {
                self.network.enqueue(port, id);
                self.forwarded_to = port;
            }
            Step::NoPath => self.network.unroutable(id),
            Step::Policed => self.network.drop_policed(id),
            Step::Kept => {}
        }
    }

    /// What an event rarely leaves to do: hosts are told of packets that ended, and in a crowd memory is fetched ahead.
    #[cold]
    fn attend(&mut self, source: usize) {
        self.hosts.attend(&mut self.network);
        self.follow_phases();
        if self.crowded && source >= source::PORTS {
            self.foresee_packets(source - source::PORTS);
        }
        self.network.attention = self.crowded;
    }

    fn schedule_control(&mut self) {
        self.network.queue.set(source::CONTROL, self.schedule.next_ps());
    }

    fn control(&mut self, control: Control) -> Result<(), SimulationError> {
        match control {
            Control::Change(what) => {
                self.hosts.forget_streams(&mut self.network);
                self.change(what)?;
            }
            Control::Reroute(learned) => {
                self.hosts.forget_streams(&mut self.network);
                for what in learned {
                    self.believed.apply(what);
                }
                self.forwarding.reroute(self.fabric, &self.believed, &self.links)?;
                self.forwarding.balancer.links_changed(&self.believed, &mut self.network);
                self.network.with_host_balancer(|host, network| host.links_changed(&self.believed, network));
            }
            Control::EndInterval => self.end_interval(),
            Control::Omit => self.hosts.omit(),
            Control::Sample => {
                let now_ps = self.network.now_ps;
                for &port in &self.queue_ports {
                    let from = self.fabric.ports()[port as usize].from;
                    let waiting_bytes =
                        if from < self.hosts_count { self.network.waiting_bytes(from) } else { 0 };
                    let backlog_bytes = waiting_bytes + self.network.waiting_at(port);
                    self.queue_samples.push(QueueSample { port, time_ps: now_ps, backlog_bytes });
                }
            }
        }
        Ok(())
    }

    /// The records and sums of the run.
    ///
    /// # Errors
    /// Records of flows that the sink cannot take.
    pub fn outcome(mut self, progress: &Progress) -> Result<Outcome, SimulationError> {
        self.end_records();
        self.report(progress);
        let sums = self.sums();
        let totals = Totals {
            packets_peak: self.network.packets.peak() as u64,
            connections_peak: self.hosts.connections_peak() as u64,
            ..sums.totals(&self.port_records, self.network.now_ps)
        };
        let mut counts = self.forwarding.balancer.counts();
        self.network.with_host_balancer(|host, _| counts.extend(host.counts()));
        counts.extend(sums.counts());
        let recorder = self.network.recorder.map(|recorder| *recorder);
        let (captures, events) = records(recorder.into_iter().collect());
        let works = self.hosts.work_records();
        let replay = self.hosts.replay_record();
        let (flows, windows) = self.hosts.into_records()?;
        Ok(Outcome {
            works,
            counts,
            captures,
            events,
            flows,
            ports: self.port_records,
            queues: self.queue_samples,
            windows,
            replay,
            totals,
        })
    }
}

/// Hash input of a switch, numbered from the first: without it, switches of one tier would all choose alike (polarisation).
#[must_use]
pub fn salt(seed: u64, switch: u32) -> u32 {
    mix::finalise(mix::absorb(mix::absorb(seed as u32, (seed >> 32) as u32), switch))
}
