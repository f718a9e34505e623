//! Trial of one scenario: it is read, resolved, written and read again, run twice, recorded, and held to every
//! invariant.

use crate::broken::{Broken, holds};
use crate::{apart, arrival, bound, calm, counts, packet_events, replays, threads};
use anabranch_balancers::simulate;
use anabranch_record::{
    Column, RecordFile, Values, event_columns, flow_columns, port_columns, queue_columns, window_columns,
    write_capture,
};
use anabranch_scenario::{Resolved, Scenario};
use anabranch_sim::{Outcome, Progress};
use anabranch_traffic::{DrawnFlows, Flow, FlowSource};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Number of events after which a run is given up. Drawn scenarios have far fewer, unless their flows cannot arrive and
/// time out until the end.
pub(crate) const EVENTS_MAX: u64 = 1_000_000;
/// Reason for refusing a run that was given up.
pub(crate) const GIVEN_UP: &str = "given up, for it takes too long";

/// Result of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The scenario ran, and every invariant holds.
    Passed(Passed),
    /// The text is no scenario, or its load balancer refuses it.
    Refused(String),
    /// The scenario broke an invariant.
    Broken(Broken),
}

/// Run of which every invariant holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Number of its events.
    pub(crate) events: u64,
    /// Whether it was held to the invariants of calm runs.
    pub(crate) calm: bool,
    /// Whether it was simulated on several threads too.
    pub(crate) on_threads: bool,
    /// Whether messages of it were replayed in another run.
    pub(crate) replayed: bool,
    /// Number of timeouts of all flows.
    pub(crate) timeouts: u64,
}

/// Reason why a trial ends early.
enum End {
    Refused(String),
    Broken(Broken),
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

/// Tries a scenario.
pub(crate) fn run(text: &str, folder: &Path, progress: &Progress) -> Verdict {
    match crate::panics::caught(|| passed(text, folder, progress)) {
        Ok(Ok(passed)) => Verdict::Passed(passed),
        Ok(Err(End::Refused(reason))) => Verdict::Refused(reason),
        Ok(Err(End::Broken(broken))) | Err(broken) => Verdict::Broken(broken),
    }
}

fn passed(text: &str, folder: &Path, progress: &Progress) -> Result<Passed, End> {
    let resolved = resolve(text, "attack.toml", folder).map_err(End::Refused)?;
    let canonical = resolved.to_toml();
    let again = resolve(&canonical, "again.toml", folder)
        .map_err(|error| Broken::new("the canonical text is a scenario", format!("{error}\n{canonical}")))?;
    holds(
        again.to_toml() == canonical && again.identity() == resolved.identity(),
        "the canonical text reads as itself",
        || canonical.clone(),
    )?;
    let means_the_same = again.settings() == resolved.settings() && again.fabric() == resolved.fabric();
    holds(means_the_same, "the canonical text means the same", || {
        format!("{:?}\n{:?}\n{canonical}", resolved.settings(), again.settings())
    })?;
    let drawn = resolved.flows().map_err(|error| End::Refused(error.to_string()))?;
    let flows: Vec<Flow> = drawn.iter().collect();
    let drawn_again =
        again.flows().map_err(|error| Broken::new("flows are drawn twice", error.to_string()))?;
    holds(drawn_again.iter().eq(drawn.iter()), "flows are drawn the same twice", || canonical.clone())?;
    let _ = resolved.warnings(&drawn, &resolved.offered_load(&drawn));
    let first = simulated(&resolved, &flows, progress)?;
    if over(&first, progress) {
        calm::check(&resolved, &flows, &first, true)?;
    }
    let first = whole(first, progress)?;
    let second = whole(simulated_into_file(&again, &drawn_again, progress)?, progress)?;
    compare(&first, &second)?;
    counts::check(&resolved, &flows, &first)?;
    packet_events::check(&resolved, &first)?;
    bound::check(&resolved, &flows, &first.flows)?;
    recorded(&resolved, &flows, &first)?;
    arrival::check(&resolved, &flows, &first)?;
    let calm = calm::check(&resolved, &flows, &first, false)?;
    apart::check(text, folder, progress)?;
    let on_threads = threads::check(&resolved, &flows, progress)?;
    let replayed = replays::check(&resolved, &flows, &first, progress)?;
    let timeouts = first.flows.iter().map(|record| u64::from(record.timeouts)).sum();
    Ok(Passed { events: first.totals.events, calm, on_threads, replayed, timeouts })
}

fn resolve(text: &str, name: &str, folder: &Path) -> Result<Resolved, String> {
    Scenario::parse(text, name, &[])
        .and_then(|scenario| scenario.resolve(folder))
        .map_err(|error| error.to_string())
}

/// The same simulation of flows that come one after the other, with their records in a file meanwhile.
fn simulated_into_file(resolved: &Resolved, flows: &DrawnFlows, progress: &Progress) -> Result<Outcome, End> {
    let broken = |error: io::Error| Broken::new("records are kept in a file", error.to_string());
    let file = Arc::new(RecordFile::create_in(&std::env::temp_dir()).map_err(broken)?);
    progress.send_flows_to(Arc::<RecordFile>::clone(&file));
    let outcome = simulated(resolved, flows, progress)?;
    Ok(Outcome { flows: file.read(0, flows.len()).map_err(broken)?, ..outcome })
}

fn simulated(resolved: &Resolved, flows: &impl FlowSource, progress: &Progress) -> Result<Outcome, End> {
    let outcome = simulate(resolved.fabric(), flows, resolved.settings(), progress)
        .map_err(|error| End::Refused(error.to_string()))?;
    Ok(outcome)
}

/// Whether a run was given up: by events, not by whether the watcher was quick enough, so that the same scenarios are on
/// every machine.
fn over(outcome: &Outcome, progress: &Progress) -> bool {
    progress.is_cancelled() || outcome.totals.events > EVENTS_MAX
}

fn whole(outcome: Outcome, progress: &Progress) -> Result<Outcome, End> {
    if over(&outcome, progress) { Err(End::Refused(GIVEN_UP.to_owned())) } else { Ok(outcome) }
}

fn compare(first: &Outcome, second: &Outcome) -> Result<(), Broken> {
    let differs = |what: &str| Err(Broken::new("two runs are equal to the bit", format!("{what} differ")));
    if first.totals != second.totals {
        return differs(&format!("{:?} and {:?}", first.totals, second.totals));
    }
    if first.flows != second.flows {
        return differs("rows of flows");
    }
    if first.ports != second.ports {
        return differs("rows of ports");
    }
    if first.queues != second.queues || first.windows != second.windows || first.counts != second.counts {
        return differs("samples or counts");
    }
    if first.events != second.events {
        return differs("events of packets");
    }
    if format!("{:?}", first.captures) != format!("{:?}", second.captures) {
        return differs("captured packets");
    }
    Ok(())
}

/// Load balancers whose packets take paths that are not the shortest.
const DETOURS: [&str; 6] = ["explicit", "spritz-scout", "spritz-spray", "ugal-g", "ugal-l", "valiant"];

/// Checks the tables that are written: their sums are those of the manifest, and every number is finite.
fn recorded(resolved: &Resolved, flows: &[Flow], outcome: &Outcome) -> Result<(), Broken> {
    let (fabric, settings) = (resolved.fabric(), resolved.settings());
    let (framing, measure) = (settings.framing, settings.observe.measure);
    let of_flows = flow_columns(fabric, framing, &settings.transports, flows, &outcome.flows, measure);
    let of_ports = port_columns(fabric, &outcome.ports);
    let samples = [
        queue_columns(fabric, &outcome.queues),
        window_columns(&outcome.windows),
        event_columns(&outcome.events),
    ];
    for column in of_flows.iter().chain(&of_ports).chain(samples.iter().flatten()) {
        let finite = match &column.values {
            Values::F64(values) => values.iter().all(|value| value.is_finite()),
            Values::OptionalF64(values) => values.iter().flatten().all(|value| value.is_finite()),
            Values::U64(_) | Values::OptionalU64(_) | Values::Bool(_) => true,
            Values::Node(_) | Values::Word(_) => true,
        };
        holds(finite, "recorded numbers are finite", || format!("{}: {:?}", column.name, column.values))?;
    }
    // After a failure a longer path may be faster than the shortest ones of the fabric as built, and detours may add to them.
    let scheme = settings.balancing.scheme.get().map(|scheme| scheme.descriptor().name);
    if settings.changes.is_empty() && !scheme.is_some_and(|name| DETOURS.contains(&name)) {
        above_ideal(&of_flows)?;
    }
    let totals = &outcome.totals;
    let manifest = [
        ("sent_packets", totals.packet_hops, &of_ports),
        ("marked_packets", totals.marked_packets, &of_ports),
        ("finished", totals.flows_finished, &of_flows),
    ];
    for (name, counted, columns) in manifest {
        let summed = sum(columns, name);
        holds(summed == Some(counted), "the manifest's counts are those of the tables", || {
            format!("{name}: {counted} and {summed:?}")
        })?;
    }
    // Frames without room for TCP's headers are refused, which is no failure.
    let _ = write_capture("attack.pcapng", std::io::sink(), fabric, settings.framing, &outcome.captures);
    Ok(())
}

/// Checks that no flow takes less than its ideal time, up to rounding to a nanosecond.
fn above_ideal(columns: &[Column]) -> Result<(), Broken> {
    let values = |name: &str| columns.iter().find(|column| column.name == name).map(|column| &column.values);
    let (Some(Values::OptionalF64(taken)), Some(Values::F64(ideal))) =
        (values("fct_ns"), values("ideal_fct_ns"))
    else {
        return Err(Broken::new("flows have an ideal time", "no columns fct_ns and ideal_fct_ns"));
    };
    for (flow, (taken_ns, ideal_ns)) in taken.iter().zip(ideal).enumerate() {
        if let Some(taken_ns) = taken_ns {
            holds(*taken_ns >= *ideal_ns * (1.0 - 1e-12), "no flow is below its ideal", || {
                format!("flow {flow} took {taken_ns} ns, ideal are {ideal_ns} ns")
            })?;
        }
    }
    Ok(())
}

fn sum(columns: &[Column], name: &str) -> Option<u64> {
    let column = columns.iter().find(|column| column.name == name)?;
    match &column.values {
        Values::U64(values) => Some(values.iter().sum()),
        Values::Bool(values) => Some(values.iter().filter(|&&value| value).count() as u64),
        _ => None,
    }
}
