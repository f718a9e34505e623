//! One simulation on several threads: the outcome is that of one thread, to the bit, for any cut of the fabric.
//!
//! Everything that takes one thread is taken out of a scenario first: some load balancers, datagrams, connections that are kept;
//! flows that finish when they are acknowledged, where others wait;
//! of half of the scenarios graphs, and flows that wait for what is received elsewhere, so that hosts can be apart from their
//! leaves. Fabric, changes, sizes, cards, tables, captures, events and intervals stay.

use crate::broken::{Broken, holds};
use anabranch_balancers::{Settings, Task};
use anabranch_fabric::Fabric;
use anabranch_record::write_capture;
use anabranch_scenario::Resolved;
use anabranch_sim::transport::roce::{Roce, Semantics};
use anabranch_sim::transport::{Completion, Control, Tcp, Transport};
use anabranch_sim::{Framing, Outcome, Partition, Progress};
use anabranch_traffic::random::Stream;
use anabranch_traffic::{Flow, Start};

/// One scenario of so many is simulated in parts too.
const SHARE: u64 = 6;

/// Time between the starts of flows that waited for others.
const APART_PS: u64 = 1_000_000;

/// Most events of a run that is compared.
const EVENTS_MAX: u64 = 200_000;

/// Settings without what takes one thread.
fn plain(settings: &Settings) -> Settings {
    let mut settings = settings.clone();
    if settings.balancing.scheme.get().is_some_and(|scheme| !scheme.runs_in_parts()) {
        settings.balancing = anabranch_balancers::Balancing::ECMP;
    }
    settings.transports.iter_mut().for_each(|transport| *transport = plain_transport(transport));
    settings.switch_hashes.clear();
    settings
}

/// RoCE with writes, UEC or MPTCP, or else TCP.
fn plain_transport(transport: &Transport) -> Transport {
    match transport {
        Transport::Roce(roce) => Transport::Roce(Roce { semantics: Semantics::Write, ..roce.clone() }),
        Transport::Uec(_) | Transport::Mptcp(_) => transport.clone(),
        _ => {
            let tcp = transport.tcp().cloned().unwrap_or_else(|| Tcp::plain(Control::Dctcp { gain: 0.0625 }));
            Transport::Tcp(Tcp { persistent: false, ..tcp })
        }
    }
}

/// Has flows finish when they are delivered, unless each has a queue pair of its own and `none_waits` for others.
fn finish(transport: &mut Transport, none_waits: bool) {
    let (completion, pairs) = match transport {
        Transport::Roce(roce) => (&mut roce.completion, &roce.queue_pairs),
        Transport::Uec(uec) => (&mut uec.completion, &uec.queue_pairs),
        _ => return,
    };
    if !none_waits || pairs.count > 1 || pairs.persistent {
        *completion = Completion::Delivered;
    }
}

/// The flows, each of which waits for what its own host receives, or for none.
fn at_times(flows: &[Flow]) -> Vec<Flow> {
    let start = |(index, flow): (u64, &Flow)| match flow.start {
        Start::At(_) => flow.start,
        Start::After { flow: awaited, .. } if flows[awaited as usize].dst == flow.src => flow.start,
        Start::After { .. } | Start::AfterJob { .. } | Start::Ready { .. } => Start::At(index * APART_PS),
    };
    (0..).zip(flows).map(|(index, flow)| Flow { start: start((index, flow)), ..*flow }).collect()
}

/// Parts by lot; hosts are where their leaves are, or apart from them.
fn by_lot(fabric: &Fabric, apart: bool, stream: &mut Stream) -> Partition {
    let switches = fabric.nodes().len() - fabric.hosts() as usize;
    let parts = 2 + stream.below(3);
    let mut draw = |nodes| (0..nodes).map(|_| stream.below(parts) as u32).collect();
    let of_switch: Vec<u32> = draw(switches);
    let beside = |host: u32| of_switch[(fabric.leaf_of(host) - fabric.hosts()) as usize];
    let of_host =
        if apart { draw(fabric.hosts() as usize) } else { (0..fabric.hosts()).map(beside).collect() };
    Partition::new(of_switch, of_host)
}

/// Simulates some of all scenarios by one thread and by several. Says whether this one was.
pub(crate) fn check(resolved: &Resolved, flows: &[Flow], progress: &Progress) -> Result<bool, Broken> {
    // The seed stays while a scenario that fails is made smaller.
    let mut stream = Stream::new(resolved.settings().seed, "threads");
    if stream.below(SHARE) != 0 {
        return Ok(false);
    }
    let apart = stream.below(2) == 0;
    let (fabric, mut settings) = (resolved.fabric(), plain(resolved.settings()));
    let mut flows = flows.to_vec();
    if apart {
        settings.works.clear();
        flows = at_times(&flows);
    }
    let begins_later = |flow: &Flow| !matches!(flow.start, Start::At(_));
    let none_waits = settings.works.is_empty() && !flows.iter().any(begins_later);
    settings.transports.iter_mut().for_each(|transport| finish(transport, none_waits));
    let is_tcp = |transport: &Transport| matches!(transport, Transport::Tcp(_) | Transport::Mptcp(_));
    if settings.transports.iter().any(is_tcp) {
        settings.works.iter_mut().for_each(|work| work.ordered = false);
    }
    let Ok(task) = Task::new(fabric, &flows, &settings, progress) else { return Ok(false) };
    let cuts = [Partition::by_leaves(fabric, 2), by_lot(fabric, apart, &mut stream)];
    let Ok(whole) = task.simulate() else { return Ok(false) };
    let mut compared = false;
    for cut in &cuts {
        if progress.is_cancelled() || whole.totals.events > EVENTS_MAX || task.one_thread(cut).is_some() {
            continue;
        }
        let outcome = task.on_threads(cut).and_then(Task::simulate);
        let parts = outcome
            .map_err(|error| Broken::new("threads: parts run where one thread does", error.to_string()))?;
        if !progress.is_cancelled() {
            compare(&whole, &parts)?;
            compare_captures((fabric, settings.framing), [&whole, &parts])?;
            compared = true;
        }
    }
    Ok(compared)
}

fn compare(whole: &Outcome, parts: &Outcome) -> Result<(), Broken> {
    let rule = "threads have the same bits as one thread";
    let flow = whole.flows.iter().zip(&parts.flows).position(|(one, other)| one != other);
    holds(flow.is_none() && whole.flows.len() == parts.flows.len(), rule, || {
        format!(
            "flow {flow:?}: {:?} and {:?}",
            flow.map(|at| whole.flows[at]),
            flow.map(|at| parts.flows[at])
        )
    })?;
    let port = whole.ports.iter().zip(&parts.ports).position(|(one, other)| one != other);
    holds(port.is_none() && whole.ports.len() == parts.ports.len(), rule, || {
        format!(
            "port {port:?}: {:?} and {:?}",
            port.map(|at| whole.ports[at]),
            port.map(|at| parts.ports[at])
        )
    })?;
    holds(
        whole.queues == parts.queues && whole.windows == parts.windows && whole.counts == parts.counts,
        rule,
        || format!("samples, or counts: {:?} and {:?}", whole.counts, parts.counts),
    )?;
    holds(whole.events == parts.events, rule, || "events of packets differ".to_owned())?;
    holds(whole.works == parts.works, rule, || "what happened to nodes of graphs differs".to_owned())?;
    let totals = anabranch_sim::Totals { packets_peak: whole.totals.packets_peak, ..parts.totals };
    holds(whole.totals == totals, rule, || format!("{:?} and {totals:?}", whole.totals))
}

/// Compares captures as files, for parts name connections in their own way. Some framings have no room for headers.
fn compare_captures((fabric, framing): (&Fabric, Framing), outcomes: [&Outcome; 2]) -> Result<(), Broken> {
    let [whole, parts] = outcomes.map(|outcome| {
        let mut file = Vec::new();
        write_capture("a capture", &mut file, fabric, framing, &outcome.captures).ok().map(|()| file)
    });
    holds(whole == parts, "threads have the same bits as one thread", || "captures differ".to_owned())
}
