//! Replay: with a wide band, so that much is replayed that is not alike, everything still ends, adds up, and is the same
//! twice.

use crate::broken::{Broken, holds};
use anabranch_balancers::{Settings, simulate};
use anabranch_scenario::Resolved;
use anabranch_sim::{Outcome, Progress, Replay};
use anabranch_traffic::Flow;

/// Twice as many messages are replayed as are simulated, after two of a kind, however much those differ.
const REPLAY: Replay = Replay { sample: 0.33, learn: 2, band: 1.0 };

/// Simulates a scenario with graphs once more, with replay, and that twice. Says whether a message was replayed.
pub(crate) fn check(
    resolved: &Resolved,
    flows: &[Flow],
    full: &Outcome,
    progress: &Progress,
) -> Result<bool, Broken> {
    if full.works.is_empty() {
        return Ok(false);
    }
    let settings = Settings { replay: Some(REPLAY), ..resolved.settings().clone() };
    let run = || {
        simulate(resolved.fabric(), flows, &settings, progress)
            .map_err(|error| Broken::new("replay runs where all is simulated", error.to_string()))
    };
    let (one, other) = (run()?, run()?);
    if progress.is_cancelled() {
        return Ok(false);
    }
    let rule = "two runs with replay are equal to the bit";
    holds(one.flows == other.flows && one.ports == other.ports && one.totals == other.totals, rule, || {
        format!("{:?} and {:?}", one.totals, other.totals)
    })?;
    let replayed = one.flows.iter().filter(|record| record.replayed > 0).count() as u64;
    let counted = one.replay.as_ref().map_or(0, |replay| replay.replayed);
    holds(replayed <= counted, "rows say what was replayed", || format!("{replayed} of {counted}"))?;
    let all_end = |outcome: &Outcome| outcome.totals.flows_finished == flows.len() as u64;
    // Messages that are not alike take longer than without replay, perhaps beyond the end of the run.
    let in_time = full.totals.end_ps <= settings.end_ps / 2;
    holds(
        !(in_time && all_end(full)) || all_end(&one),
        "with replay everything ends that ends without",
        || {
            let left = one.flows.iter().position(|record| record.fct_ps == u64::MAX);
            format!("{left:?}: {:?}", left.map(|flow| (flows[flow], one.flows[flow])))
        },
    )?;
    for (flow, record) in flows.iter().zip(&one.flows).filter(|(_, record)| record.replayed > 0) {
        let ends = record.delivered_bytes + record.dropped_bytes + record.lost_bytes;
        holds(
            record.sent_bytes == ends && record.received_bytes <= flow.size_bytes,
            "replayed rows add up",
            || format!("{flow:?}: {record:?}"),
        )?;
    }
    let above = one.ports.iter().find(|port| port.busy_ps > port.length_ps);
    holds(above.is_none(), "no port is busy for longer than an interval", || format!("{above:?}"))?;
    Ok(replayed > 0)
}
