//! From names to numbers: what a scenario means on its fabric.

use crate::directory::Directory;
use crate::explicit_paths;
use crate::hashes::switch_hashes;
use crate::jobs::traffic_error;
use crate::section::change::{self, Alteration, Effect};
use crate::section::fabric::Built;
use crate::section::record::Record;
use crate::section::routing::Weights;
use crate::section::stop;
use crate::section::traffic::{Demand, SizeSource};
use crate::workloads::Workloads;
use crate::{Files, NamedFile, Scenario, Shape, expected, identity};
use anabranch_balancers::{Balancing, Build, Descriptor, Settings, explicit, registry};
use anabranch_fabric::{Change, Fabric, LinkState, What};
use anabranch_form::unit::{Named, Time, Unit};
use anabranch_form::{Form, FormError, Position, Reader, document};
use anabranch_plan::{Group, Groups, Weighing};
use anabranch_sim::{Observe, Queueing, check_switches};
use anabranch_traffic::{DrawnFlows, Flow, FlowSource, Start, TierLoad, Workload, offered};
use std::path::Path;

/// A scenario that makes sense, with what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolved {
    scenario: Scenario,
    fabric: Fabric,
    settings: Settings,
    workloads: Vec<Workload>,
    /// What the fabric's file says and nothing reads.
    file_warnings: Vec<String>,
}

impl Scenario {
    /// Builds the fabric, reads the files that are named, and finds every link, switch and port. File names are
    /// relative to `folder`, where the scenario's own file is.
    ///
    /// # Errors
    /// What is not there, or does not fit, by its line.
    pub fn resolve(self, folder: &Path) -> Result<Resolved, FormError> {
        self.resolve_with(&Files::of(folder))
    }

    /// Does as [`Self::resolve`], with files that may be elsewhere.
    ///
    /// # Errors
    /// What is not there, or does not fit, by its line.
    pub fn resolve_with(mut self, files: &Files<'_>) -> Result<Resolved, FormError> {
        let Built { mut fabric, losses, warnings } = self.fabric.build(&self.fabric_origin, files)?;
        if let Some(switch) = &self.switch {
            fabric.set_switches(Some(switch.settings));
            check_switches(&fabric, self.framing, &self.host.nic)
                .map_err(|error| self.fabric_origin.error(error.key, &error.problem, error.hint))?;
        }
        if self.host.nic.queueing == Queueing::Fifo {
            fabric.set_host_queues(self.host.buffer, self.host.marking);
        }
        let Workloads { workloads, transports, end_ps } = Workloads::of(&mut self, &fabric, files)?;
        if !self.stop_origin.has("at") {
            self.end_ps = self.end_ps.max(Some(stop::default_end_ps(end_ps)));
        }
        let directory = Directory::of(&fabric);
        let mut changes = changes(&directory, &self.changes)?;
        changes.splice(0..0, losses);
        let weighing = weighing(&directory, &self.routing.weights)
            .and_then(|weighing| some_weight(&fabric, &self.routing.weights, weighing))
            .map_err(|error| error.within("routing.weights"))?;
        let works = workloads.iter().filter_map(|workload| match workload {
            Workload::Graph(job) => Some(job.work.clone()),
            _ => None,
        });
        let works = works.collect();
        let mut balancing = Balancing {
            granularity: self.routing.granularity,
            weighing,
            table: self.routing.table,
            scheme: self.routing.scheme.clone(),
            paths: explicit_paths::of(&mut self.routing, &fabric, files)?,
        };
        let switch_hashes = switch_hashes(&self.routing.hashes, &fabric, &transports, self.seed)?;
        if let Some(first) = self.routing.hashes.first()
            && !balancing.hashes_headers()
        {
            return Err(first.origin.error(
                None,
                "the load balancer does not choose by a hash of header fields alone",
                format!("choose one of {}, or leave the hash out", hashing_balancers().join(", ")),
            ));
        }
        if let Some(mutation) = self.routing.mutation {
            mutation.apply(&mut balancing);
        }
        let settings = Settings {
            seed: self.seed,
            balancing,
            transports,
            works,
            nic: self.host.nic,
            framing: self.framing,
            changes,
            routing_delay_ps: self.routing.delay_ps,
            switch_hashes,
            end_ps: self.end_ps.unwrap_or(0),
            replay: self.replay,
            observe: Observe { measure: self.measure.window(), ..observe(&directory, &self.record)? },
        };
        Ok(Resolved { scenario: self, fabric, settings, workloads, file_warnings: warnings })
    }
}

impl Resolved {
    /// The scenario as written, with every default.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The files that the scenario names, with their digests.
    #[must_use]
    pub fn named_files(&self) -> Vec<&NamedFile> {
        let fabric = match &self.scenario.fabric {
            Shape::File(_, file, _) => Some(file),
            _ => None,
        };
        let traffic = self.scenario.traffic.iter().filter_map(|traffic| match &traffic.demand {
            Demand::FlowList(file) | Demand::Capture(file) => Some(file),
            Demand::Graph(work) => work.file.as_ref(),
            Demand::Poisson { sizes, .. } | Demand::Once { sizes, .. } => match &sizes.source {
                SizeSource::File(file) => Some(file),
                _ => None,
            },
            _ => None,
        });
        fabric.into_iter().chain(&self.scenario.routing.paths).chain(traffic).collect()
    }

    /// The fabric.
    #[must_use]
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// What the fabric's file says and nothing reads.
    pub(crate) fn file_warnings(&self) -> &[String] {
        &self.file_warnings
    }

    /// Settings of the simulator.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Workloads that flows are drawn from, one for each `[[traffic]]`.
    #[must_use]
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// Changes of this fabric, from a text with `[[change]]` as scenarios have them.
    ///
    /// # Errors
    /// What is not there, or does not fit.
    pub fn changes_of(&self, text: &str, source: &str) -> Result<Vec<Change>, FormError> {
        let position = Position { source: source.into(), line: None };
        let mut reader = Reader::new(document::parse(text, source, &[])?, position);
        let mut alterations = Vec::new();
        let meaning = "What happens to the fabric.";
        reader.tables("change", &mut alterations, meaning, Alteration::default, change::visit);
        reader.finish()?;
        changes(&Directory::of(&self.fabric), &alterations)
    }

    /// The flows: the same whenever it is called.
    ///
    /// # Errors
    /// Traffic that makes no sense on this fabric, and flows that would begin after the end.
    pub fn flows(&self) -> Result<DrawnFlows, FormError> {
        let seed = self.scenario.seed;
        let flows = DrawnFlows::of(&self.workloads, &self.fabric, seed).map_err(|error| {
            // Whose error it is, the one that makes it alone says.
            let faulty =
                |workload: &Workload| workload.flows(&self.fabric, seed).err().as_ref() == Some(&error);
            let index = self.workloads.iter().position(faulty).unwrap_or(0);
            traffic_error(&self.scenario.traffic[index].origin, error)
        })?;
        self.check_paths(&flows)?;
        self.check_end(&flows)?;
        self.check_some_measured(&flows)?;
        Ok(flows)
    }

    /// Refuses flows for which the table of explicit paths has none.
    fn check_paths(&self, flows: &DrawnFlows) -> Result<(), FormError> {
        let Some(table) = &self.settings.balancing.paths else { return Ok(()) };
        explicit::missing_pair(table, &self.fabric, flows).map_or(Ok(()), |hosts| {
            let name = |node: u32| &self.fabric.nodes()[node as usize].name;
            let [from, to] = hosts.map(name);
            let [first, last] = hosts.map(|host| name(self.fabric.leaf_of(host)));
            Err(self.scenario.routing.paths_origin.error(
                "file",
                &format!("it has no path from {from} to {to}, between which traffic or its answers go"),
                format!(
                    "add a row for their leaves, {first}>...>{last}, or for the hosts: nothing else routes"
                ),
            ))
        })
    }

    /// Refuses flows that would begin after the end.
    fn check_end(&self, flows: &DrawnFlows) -> Result<(), FormError> {
        let is_late = |at_ps| at_ps >= self.settings.end_ps;
        if !flows.outline().starts_ps.is_some_and(|(_, last_ps)| is_late(last_ps)) {
            return Ok(());
        }
        let late = flows.iter().enumerate().find_map(|(index, flow)| match flow.start {
            Start::At(at_ps) if is_late(at_ps) => Some((index, at_ps)),
            _ => None,
        });
        late.map_or(Ok(()), |(index, at_ps)| {
            Err(self.scenario.stop_origin.error(
                "at",
                &format!("{} is before flow {index} begins", Time.write(&self.settings.end_ps)),
                format!("set it beyond {}, or ask for fewer flows", Time.write(&at_ps)),
            ))
        })
    }

    /// Refuses a window in which no flow can begin.
    fn check_some_measured(&self, flows: &DrawnFlows) -> Result<(), FormError> {
        let window = self.settings.observe.measure;
        // When the others begin, the simulation decides.
        let may_count = |flow: Flow| match flow.start {
            Start::At(at_ps) => window.holds(at_ps),
            Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => true,
        };
        match flows.outline().starts_ps {
            Some((_, last_ps)) if !flows.iter().any(may_count) => {
                let key = if window.from_ps > last_ps { "from" } else { "to" };
                Err(self.scenario.measure_origin.error(
                    key,
                    "no flow begins in the window, and none would count",
                    format!("the last flow begins at {}", Time.write(&last_ps).trim_matches('"')),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Payload offered tier by tier, from the first arrival to the last; nothing if all flows begin at once.
    #[must_use]
    pub fn offered_load(&self, flows: &impl FlowSource) -> Vec<TierLoad> {
        let window_ps = flows.outline().arrival_window_ps();
        window_ps.map_or(Vec::new(), |window_ps| offered(&self.fabric, flows, window_ps))
    }

    /// Packet-hops that a run with these flows is expected to have: frames with payload and answers to them, times the ports
    /// on their shortest paths.
    #[must_use]
    pub fn expected_packet_hops(&self, flows: &impl FlowSource) -> u64 {
        expected::packet_hops(&self.fabric, &self.settings, flows)
    }

    /// The canonical text: every key with its value, in the order and the units of the reference page. It reads as
    /// the same scenario.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.scenario.to_toml()
    }

    /// 32 hexadecimal digits that tell this run from every other: XXH3-128 of the canonical text and the version of
    /// the model.
    #[must_use]
    pub fn identity(&self) -> String {
        identity::identity(&self.to_toml())
    }
}

/// Names of the load balancers that choose by a hash of header fields alone.
fn hashing_balancers() -> Vec<&'static str> {
    let hashes = |descriptor: &&Descriptor| match descriptor.build {
        Build::Tables(granularity, table) => {
            Balancing { granularity, table, ..Balancing::ECMP }.hashes_headers()
        }
        Build::Scheme(_) => false,
    };
    registry::all().filter(hashes).map(|descriptor| descriptor.name).collect()
}

fn weighing(directory: &Directory<'_>, weights: &Weights) -> Result<Weighing, FormError> {
    Ok(match weights {
        Weights::Equal => Weighing::Equal,
        Weights::Capacity => Weighing::Capacity,
        Weights::Given(ports) => {
            let given = |(name, weight): &(Named, u64)| {
                let (node, neighbour) = directory.direction(name)?;
                Ok((node, neighbour, *weight))
            };
            Weighing::Given(ports.iter().map(given).collect::<Result<_, _>>()?)
        }
    })
}

/// Refuses written weights that leave a switch nothing to send by.
fn some_weight(fabric: &Fabric, weights: &Weights, weighing: Weighing) -> Result<Weighing, FormError> {
    let Weights::Given(written) = weights else { return Ok(weighing) };
    let groups = Groups::plan(fabric, &LinkState::of(fabric), &weighing);
    let weightless =
        |group: &Group| !group.members.is_empty() && group.members.iter().all(|member| member.weight == 0);
    let Some(index) = groups.groups.iter().position(weightless) else { return Ok(weighing) };
    let switch = &fabric.nodes()[groups.switch_of[index] as usize].name;
    let own = |(name, _): &&(Named, u64)| name.text.split('>').next().map(str::trim) == Some(switch.as_str());
    let position = written.iter().find(own).or(written.first()).map(|(name, _)| name.position.clone());
    let problem = format!("{switch}: all of its next hops to some leaf weigh 0, so nothing gets there");
    match position {
        Some(position) => Err(FormError::new(position, problem, "give one of them a weight above 0")),
        None => Ok(weighing),
    }
}

fn observe(directory: &Directory<'_>, record: &Record) -> Result<Observe, FormError> {
    Ok(Observe {
        interval_ps: record.interval_ps,
        omit_ps: record.omit_ps.unwrap_or(0),
        queue_ports: ports(directory, &record.queues).map_err(|error| error.within("record.queues"))?,
        queue_sample_ps: record.queue_interval_ps,
        window_flows: record.windows.clone(),
        capture_ports: ports(directory, &record.captures).map_err(|error| error.within("record.captures"))?,
        capture_packets_max: record.capture_packets,
        events_max: record.events.unwrap_or(0),
        ..Observe::default()
    })
}

/// The ports of all names, each once, ascending.
fn ports(directory: &Directory<'_>, names: &[Named]) -> Result<Vec<u32>, FormError> {
    let mut ports = Vec::new();
    for name in names {
        ports.extend(directory.ports(name)?);
    }
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

/// The changes of every port and switch that `alterations` name, in the order of time.
pub(crate) fn changes(
    directory: &Directory<'_>,
    alterations: &[Alteration],
) -> Result<Vec<Change>, FormError> {
    let mut changes = Vec::new();
    for (index, change) in alterations.iter().enumerate() {
        alter(directory, change, &mut changes).map_err(|error| error.within(&format!("change.{index}")))?;
    }
    changes.sort_by_key(|change| change.at_ps);
    Ok(changes)
}

/// Adds the changes of every port and switch that `change` names.
fn alter(directory: &Directory<'_>, change: &Alteration, changes: &mut Vec<Change>) -> Result<(), FormError> {
    let Some(effect) = change.effect else { return Ok(()) };
    let mut add = |what| changes.push(Change { at_ps: change.at_ps, what });
    for name in &change.links {
        for port in directory.link(name)? {
            match effect {
                Effect::Down => add(What::PortDown(port)),
                Effect::Up => add(What::PortUp(port)),
                Effect::Rate(rate) => add(What::PortRate(port, rate)),
                Effect::Loss(loss) => add(What::PortLoss(port, loss)),
                Effect::Blackhole(_) => {}
            }
        }
    }
    for name in &change.switches {
        let node = directory.switch(name)?;
        match effect {
            Effect::Down => add(What::NodeDown(node)),
            Effect::Up => add(What::NodeUp(node)),
            Effect::Blackhole(fraction) => add(What::NodeBlackhole(node, fraction)),
            Effect::Rate(_) | Effect::Loss(_) => {}
        }
    }
    Ok(())
}
