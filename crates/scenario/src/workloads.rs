//! From traffic as written to workloads: files read, distributions looked up, transports numbered.

use crate::Scenario;
use crate::file::{Files, content, file_error, read};
use crate::jobs::{self, traffic_error};
use crate::section::traffic::{Amount, Demand, Rate, SizeSource, SizesSetting, Traffic};
use anabranch_fabric::Fabric;
use anabranch_form::FormError;
use anabranch_form::Origin;
use anabranch_sim::Framing;
use anabranch_sim::transport::{Pace, Transport};
use anabranch_traffic::load::Load;
use anabranch_traffic::random::Stream;
use anabranch_traffic::sizes::{Cdf, Published, Sizes};
use anabranch_traffic::trace::Encapsulation;
use anabranch_traffic::workload::{Arrivals, Clients, Incast, Once, ParameterServer, Poisson, RingAllReduce};
use anabranch_traffic::{
    Connections, Direction, Outline, PackedFlows, Source, Start, Workload, capture_flows, read_host_flows,
    workload,
};
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// Packets read from a capture at once.
const BATCH: usize = 4096;

/// Bytes read from a flow list at once.
const READ_BYTES: usize = 1 << 16;

const PS_PER_S: f64 = 1e12;

/// A scenario's traffic, resolved on a fabric.
pub(crate) struct Workloads {
    pub(crate) workloads: Vec<Workload>,
    /// Transports that flows name by index; the first is the scenario's own.
    pub(crate) transports: Vec<Transport>,
    /// When the last flow begins; on average, where that is drawn.
    pub(crate) end_ps: u64,
}

impl Workloads {
    /// Reads the files, notes their digests in `scenario`, and checks what can be checked before flows are drawn.
    /// File names are those that `files` finds.
    pub(crate) fn of(scenario: &mut Scenario, fabric: &Fabric, files: &Files<'_>) -> Result<Self, FormError> {
        let mut made =
            Self { workloads: Vec::new(), transports: vec![scenario.transport.clone()], end_ps: 0 };
        let seed = scenario.seed;
        for (index, traffic) in (0..).zip(&mut scenario.traffic) {
            let transport = made.transport(traffic, scenario.framing)?;
            let seed = Stream::of_entity(seed, "workload", index).bits();
            let workload = workload(traffic, (transport, seed), fabric, files)?;
            check_sends(&workload, &made.transports[usize::from(transport)], &traffic.origin)?;
            let mut flows_per_s = 0.0;
            if let Workload::Poisson(poisson) = &workload {
                let rate = poisson.flows_per_s(fabric, scenario.seed);
                flows_per_s = rate.map_err(|error| traffic_error(&traffic.origin, error))?;
            }
            made.end_ps = made.end_ps.max(end_ps(&workload, traffic, fabric, flows_per_s));
            made.workloads.push(workload);
        }
        Ok(made)
    }

    /// The number of the transport that carries `traffic`.
    fn transport(&mut self, traffic: &Traffic, framing: Framing) -> Result<u8, FormError> {
        let own = own_transport(traffic, &self.transports[0], framing)?;
        let known = self.transports.iter().position(|known| *known == own);
        let index = known.unwrap_or(self.transports.len());
        if known.is_none() {
            self.transports.push(own);
        }
        u8::try_from(index).map_err(|_| {
            traffic.origin.error("transport", "the 257th of its kind", "let entries share 256 transports")
        })
    }
}

/// What carries `traffic`: its own transport or the scenario's, with its own segments and its application's rate.
fn own_transport(traffic: &Traffic, common: &Transport, framing: Framing) -> Result<Transport, FormError> {
    let mut own = traffic.transport.as_ref().unwrap_or(common).clone();
    if let Some(mss) = traffic.mss_bytes {
        let most = framing.payload_bytes_max;
        if mss > most {
            return Err(traffic.origin.error(
                "mss",
                &format!("{mss} B is more than framing.mss, {most} B"),
                format!("give at most {most} B, or raise framing.mss"),
            ));
        }
        own.set_payload_bytes_max((mss < most).then_some(mss));
    }
    if let Some(rate) = traffic.rate {
        let segment_bytes = own.payload_bytes_max(framing).into();
        let pace = Pace { rate, burst_bytes: traffic.burst_bytes.unwrap_or(segment_bytes) };
        own.set_pace(pace).map_err(|(problem, hint)| traffic.origin.error("rate", problem, hint))?;
    }
    Ok(own)
}

/// Refuses a graph whose messages would wait forever for receives to be posted.
fn check_sends(workload: &Workload, transport: &Transport, origin: &Origin) -> Result<(), FormError> {
    let Workload::Graph(job) = workload else { return Ok(()) };
    if !transport.needs_receives() {
        return Ok(());
    }
    let graph = &job.work.graph;
    let checked = graph.check_posted(|send| graph.needs_receive(send), "under semantics = \"send\"");
    checked.map_err(|error| origin.error(None, &format!("{}: {}", error.position, error.problem), error.hint))
}

/// When the last flow begins; on average, where arrivals end after a number.
fn end_ps(workload: &Workload, traffic: &Traffic, fabric: &Fabric, flows_per_s: f64) -> u64 {
    // What is too long for a time saturates.
    let after = |arrivals: u64, per_s: f64| (arrivals as f64 / per_s * PS_PER_S) as u64;
    let last_ps = match workload {
        Workload::Given(flows) => {
            return Outline::of(flows.iter()).starts_ps.map_or(0, |(_, last_ps)| last_ps);
        }
        Workload::Poisson(Poisson { amount: workload::Amount::Count(count), .. }) => {
            after(*count, flows_per_s)
        }
        Workload::Incast(incast @ Incast { amount: workload::Amount::Count(count), .. }) => {
            after(*count, incast.jobs_per_s(fabric))
        }
        _ => return traffic.end_ps(),
    };
    traffic.start_ps.saturating_add(last_ps)
}

fn workload(
    traffic: &mut Traffic,
    (transport, seed): (u8, u64),
    fabric: &Fabric,
    files: &Files<'_>,
) -> Result<Workload, FormError> {
    let (start_ps, origin) = (traffic.start_ps, &traffic.origin);
    Ok(match &mut traffic.demand {
        Demand::Poisson { pattern, sizes: from, rate, amount } => Workload::Poisson(Poisson {
            pattern: pattern.clone(),
            sizes: sizes(from, origin, files)?,
            arrivals: arrivals(*rate),
            amount: amount_of(*amount),
            start_ps,
            transport,
        }),
        Demand::Once { pattern, sizes: from } => Workload::Once(Once {
            pattern: pattern.clone(),
            sizes: sizes(from, origin, files)?,
            start_ps,
            transport,
        }),
        Demand::Incast { servers, response_bytes, rate, clients, amount } => Workload::Incast(Incast {
            servers: *servers,
            response_bytes: *response_bytes,
            rate: *rate,
            clients: if clients.is_empty() { Clients::Any } else { Clients::Among(clients.clone()) },
            amount: amount_of(*amount),
            start_ps,
            transport,
        }),
        Demand::RingAllReduce { workers, training } => Workload::RingAllReduce(RingAllReduce {
            workers: workers.clone(),
            bytes: training.size_bytes,
            iterations: training.iterations,
            compute_ps: training.compute_ps,
            start_ps,
            transport,
        }),
        Demand::ParameterServer { workers, servers, training } => {
            Workload::ParameterServer(ParameterServer {
                workers: workers.clone(),
                servers: servers.clone(),
                bytes: training.size_bytes,
                iterations: training.iterations,
                compute_ps: training.compute_ps,
                start_ps,
                transport,
            })
        }
        Demand::Graph(setting) => {
            Workload::Graph(jobs::job(setting, (start_ps, transport, seed), fabric, origin, files)?)
        }
        Demand::FlowList(file) => {
            let name = file.path.clone();
            let flows = read(file, "file", origin, files, |input| {
                read_host_flows(BufReader::with_capacity(READ_BYTES, input), &name, fabric, transport)
            })?;
            let flows = flows.map_err(|error| file_error("file", &error, origin))?;
            Workload::Given(Arc::new(later(flows, start_ps)))
        }
        Demand::Capture(file) => {
            read(file, "file", origin, files, |_| ())?;
            let flows = captured(&files.find(file), fabric, transport, origin)?;
            Workload::Given(Arc::new(later(flows, start_ps)))
        }
    })
}

fn arrivals(rate: Option<Rate>) -> Arrivals {
    match rate {
        Some(Rate::Load { fraction, reference, capacity_bps }) => {
            Arrivals::Load(Load { fraction, reference, capacity_bps: capacity_bps.map(|bps| bps as f64) })
        }
        Some(Rate::PerSecond(flows)) => Arrivals::PerSecond(flows),
        None => Arrivals::PerSecond(0.0),
    }
}

fn amount_of(amount: Option<Amount>) -> workload::Amount {
    match amount {
        Some(Amount::Count(count)) => workload::Amount::Count(count),
        Some(Amount::Duration(duration_ps)) => workload::Amount::Duration(duration_ps),
        None => workload::Amount::Count(0),
    }
}

fn sizes(setting: &mut SizesSetting, origin: &Origin, files: &Files<'_>) -> Result<Sizes, FormError> {
    Ok(match &mut setting.source {
        SizeSource::Fixed(bytes) => Sizes::Fixed(*bytes),
        SizeSource::Uniform(least, most) => Sizes::Uniform(*least, *most),
        SizeSource::Published(name) => match Published::named(name) {
            Some(table) => Sizes::Cdf(table.cdf(setting.convention)),
            None => return Err(origin.error("sizes", &format!("`{name}` is unknown"), "name another")),
        },
        SizeSource::File(file) => {
            let content = content(file, "sizes", origin, files)?;
            let cdf = Cdf::read(&content[..], &file.path, setting.convention);
            Sizes::Cdf(cdf.map_err(|error| file_error("sizes", &error, origin))?)
        }
    })
}

fn captured(file: &Path, fabric: &Fabric, transport: u8, origin: &Origin) -> Result<PackedFlows, FormError> {
    let unreadable = |error| file_error("file", &error, origin);
    let mut source = Source::open(file, Encapsulation::Outer).map_err(unreadable)?;
    let mut connections = Connections::new(Direction::Each);
    let (mut records, mut indexes) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    while source.next_batch(&mut records, BATCH).map_err(unreadable)? {
        indexes.clear();
        connections.observe_all(&records, &mut indexes);
    }
    let made =
        capture_flows(&connections, fabric, transport).map_err(|error| traffic_error(origin, error))?;
    Ok(made.flows.into_iter().collect())
}

/// The same flows, `start_ps` later.
fn later(flows: PackedFlows, start_ps: u64) -> PackedFlows {
    if start_ps == 0 {
        return flows;
    }
    let shifted = flows.iter().map(|mut flow| {
        if let Start::At(at_ps) = &mut flow.start {
            *at_ps = at_ps.saturating_add(start_ps);
        }
        flow
    });
    shifted.collect()
}
