//! Flows that wait for flows or for whole jobs.

use super::setup::{PS_PER_US, TEN_GIG, flow, leaf_spine, run, settings};
use anabranch_balancers::simulate;
use anabranch_sim::transport::{Control, Tcp, Transport};
use anabranch_sim::{FlowRecord, Progress};
use anabranch_traffic::workload::{ParameterServer, RingAllReduce};
use anabranch_traffic::{Start, Workload};

fn end_ps(record: &FlowRecord) -> u64 {
    record.start_ps + record.fct_ps
}

/// Every flow of two collectives begins exactly when what it waits for has ended and its delay has passed.
#[test]
fn nothing_begins_before_what_it_waits_for() {
    let fabric = leaf_spine(2, 2, 4, TEN_GIG);
    let settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
    let servers = ParameterServer {
        workers: vec![0, 1, 2],
        servers: vec![4, 5],
        bytes: 300_000,
        iterations: 3,
        compute_ps: 50 * PS_PER_US,
        start_ps: 1000,
        transport: 0,
    };
    let ring = RingAllReduce {
        workers: vec![0, 5, 2, 7],
        bytes: 300_000,
        iterations: 2,
        compute_ps: 9 * PS_PER_US,
        start_ps: 2000,
        transport: 0,
    };
    for workload in [Workload::ParameterServer(servers), Workload::RingAllReduce(ring)] {
        let flows = workload.flows(&fabric, 1).unwrap();
        let outcome = run(&fabric, &flows, &settings);
        assert_eq!(outcome.totals.flows_finished, flows.len() as u64);
        for (flow, record) in flows.iter().zip(&outcome.flows) {
            let expected = match flow.start {
                Start::At(at_ps) => at_ps,
                Start::After { flow, delay_ps } => end_ps(&outcome.flows[flow as usize]) + delay_ps,
                Start::Ready { .. } => continue,
                Start::AfterJob { job, delay_ps } => {
                    let of_job = flows.iter().zip(&outcome.flows).filter(|(flow, _)| flow.job == Some(job));
                    of_job.map(|(_, record)| end_ps(record)).max().unwrap() + delay_ps
                }
            };
            assert_eq!(record.start_ps, expected);
        }
    }
}

#[test]
fn a_barrier_that_could_never_open_is_refused() {
    let fabric = leaf_spine(2, 2, 4, TEN_GIG);
    let settings = settings(Transport::Tcp(Tcp::plain(Control::NewReno)));
    let mut flows = [flow(0, 1, 10, 0), flow(1, 2, 10, 0), flow(2, 3, 10, 0)];
    flows[0].job = Some(4);
    flows[1].start = Start::AfterJob { job: 4, delay_ps: 0 };
    assert_eq!(run(&fabric, &flows, &settings).totals.flows_finished, 3);
    for (job_of_last, awaited) in [(Some(4), 4), (None, 5)] {
        flows[2].job = job_of_last;
        flows[1].start = Start::AfterJob { job: awaited, delay_ps: 0 };
        let error = simulate(&fabric, &flows, &settings, &Progress::default()).unwrap_err().to_string();
        assert!(error.contains(&format!("flow 1: it waits for job {awaited}")), "{error}");
    }
}
