//! Jobs without the others, as `anabranch run --apart` runs them: an idle job leaves no trace.

use crate::broken::{Broken, holds, same};
use anabranch_balancers::simulate;
use anabranch_scenario::{Demand, Resolved, Scenario};
use anabranch_sim::{Outcome, Progress};
use std::path::Path;

/// Whether two runs are equal to the bit where the first has flows of idle jobs behind those of the second.
fn same_but_idle(with_idle: &Outcome, alone: &Outcome) -> Result<(), Broken> {
    let (own, idle) = with_idle.flows.split_at(alone.flows.len());
    let parts = [
        ("flows", own == alone.flows),
        ("ports", with_idle.ports == alone.ports),
        ("totals", with_idle.totals == alone.totals),
        ("events of packets", with_idle.events == alone.events),
        ("samples of queues", with_idle.queues == alone.queues),
        ("counts", with_idle.counts == alone.counts),
        ("nodes of the job", with_idle.works[0].times == alone.works[0].times),
    ];
    for (what, equal) in parts {
        holds(equal, "a job apart is the job alone", || format!("{what} differ"))?;
    }
    let begun = idle.iter().filter(|record| record.start_ps != u64::MAX || record.sent_packets > 0).count();
    same("a job apart is the job alone", "flows of idle jobs that began", begun as u64, 0)
}

/// Takes the jobs of a scenario with several, and runs the first with the others idle, and without them.
pub(crate) fn check(text: &str, folder: &Path, progress: &Progress) -> Result<(), Broken> {
    let jobs = |idle: bool| -> Option<Resolved> {
        let mut scenario = Scenario::parse(text, "apart.toml", &[]).ok()?;
        scenario.traffic.retain(|traffic| matches!(traffic.demand, Demand::Graph(_)));
        if scenario.traffic.len() < 2 {
            return None;
        }
        // They name flows, of which the job alone has fewer.
        scenario.record.windows.clear();
        if !idle {
            scenario.traffic.truncate(1);
        }
        for (number, traffic) in scenario.traffic.iter_mut().enumerate() {
            if let Demand::Graph(job) = &mut traffic.demand {
                job.idle = number > 0;
            }
        }
        scenario.resolve(folder).ok()
    };
    let (Some(apart), Some(alone)) = (jobs(true), jobs(false)) else { return Ok(()) };
    let run = |resolved: &Resolved| {
        let flows = resolved.flows().ok()?;
        simulate(resolved.fabric(), &flows, resolved.settings(), progress).ok()
    };
    match (run(&apart), run(&alone)) {
        (Some(apart), Some(alone)) if !progress.is_cancelled() => same_but_idle(&apart, &alone),
        (Some(_), None) | (None, Some(_)) if !progress.is_cancelled() => {
            Err(Broken::new("a job apart is the job alone", "one of them is refused"))
        }
        _ => Ok(()),
    }
}
