//! Several workloads merged into one list.

use super::setup::{at_ps, leaf_spine, load, poisson};
use anabranch_fabric::capacity::Reference;
use anabranch_traffic::sizes::Sizes;
use anabranch_traffic::workload::{
    Amount, Clients, Incast, Job, JobRate, ParameterServer, PlacedWork, RingAllReduce,
};
use anabranch_traffic::{
    DrawnFlows, Flow, FlowSource, Outline, Pattern, Ports, Start, Workload, merged_flows,
};
use anabranch_work::collective::{Algorithm, Collective, Kind, steps};
use std::collections::BTreeMap;
use std::sync::Arc;

fn background() -> Workload {
    let mut poisson = poisson(Pattern::RandomPairs, load(0.5, Reference::Uplink), Amount::Count(3000));
    poisson.sizes = Sizes::Uniform(1, 10_000_000);
    Workload::Poisson(poisson)
}

fn collectives() -> [Workload; 2] {
    let ring = RingAllReduce {
        workers: vec![1, 9, 17],
        bytes: 3000,
        iterations: 3,
        compute_ps: 40_000_000_000,
        start_ps: 1_000_000,
        transport: 1,
    };
    let servers = ParameterServer {
        workers: vec![2, 10],
        servers: vec![18, 26],
        bytes: 2000,
        iterations: 3,
        compute_ps: 30_000_000_000,
        start_ps: 2_000_000,
        transport: 2,
    };
    [Workload::RingAllReduce(ring), Workload::ParameterServer(servers)]
}

#[test]
fn merged_lists_are_in_order_and_keep_every_flow_and_its_waits() {
    let fabric = leaf_spine();
    let incast = Incast {
        servers: 4,
        response_bytes: 10,
        rate: JobRate::PerSecond(1000.0),
        clients: Clients::Any,
        amount: Amount::Count(20),
        start_ps: 0,
        transport: 3,
    };
    let [ring, servers] = collectives();
    let flows = merged_flows(&[background(), Workload::Incast(incast), ring, servers], &fabric, 1).unwrap();
    assert_eq!(flows.len(), 3000 + 80 + 3 * 12 + 3 * 8);
    let mut last = 0;
    let mut jobs: BTreeMap<u32, Vec<(usize, Flow)>> = BTreeMap::new();
    for (i, flow) in flows.iter().enumerate() {
        match flow.start {
            Start::At(at_ps) => {
                assert!(at_ps >= last);
                last = at_ps;
            }
            Start::After { flow: awaited, .. } => {
                let awaited = awaited as usize;
                assert!(awaited < i && flows[awaited].dst == flow.src && flows[awaited].transport == 1);
            }
            Start::Ready { .. } => panic!("{flow:?} is no message of a graph"),
            Start::AfterJob { job, .. } => assert!(flow.transport == 2 && jobs.contains_key(&job)),
        }
        if let Some(job) = flow.job {
            jobs.entry(job).or_default().push((i, *flow));
        }
    }
    // 20 incasts, 3 iterations of the ring, 3 of 2 pushes and a pull each: no two workloads share a job.
    assert_eq!(jobs.len(), 20 + 3 + 9);
    assert!(jobs.values().all(|job| job.iter().all(|(_, flow)| flow.transport == job[0].1.transport)));
    for (i, flow) in flows.iter().enumerate() {
        if let Start::AfterJob { job, .. } = flow.start {
            assert!(jobs[&job].iter().all(|&(other, _)| other < i), "a barrier before all its flows");
        }
    }
    // The iterations stand where they may begin at the earliest, among the background of the same time.
    let position = |job: u32| jobs[&job][0].0;
    assert!(position(21) > position(20) + 12 && flows[position(21) - 1].transport == 0);
}

#[test]
fn workloads_draw_from_seeds_of_their_own() {
    let fabric = leaf_spine();
    let flows = merged_flows(&[background(), background()], &fabric, 1).unwrap();
    let twice = flows.windows(2).filter(|pair| at_ps(&pair[0]) == at_ps(&pair[1])).count();
    assert!(twice < 10, "two workloads with the same numbers would pair all 3,000");
    assert_eq!(flows, merged_flows(&[background(), background()], &fabric, 1).unwrap());
    assert_ne!(flows, merged_flows(&[background(), background()], &fabric, 2).unwrap());
}

/// Checks that a list given by the user keeps its order, because its numbers name the flows in results.
#[test]
fn a_single_list_stays_as_it_is() {
    let flow = |at_ps| Flow {
        src: 0,
        dst: 1,
        size_bytes: 1,
        start: Start::At(at_ps),
        path: None,
        job: Some(7),
        transport: 0,
        ports: Ports::CHOSEN,
    };
    let given = vec![flow(9), flow(3), flow(5)];
    let fabric = leaf_spine();
    let workload = Workload::Given(Arc::new(given.iter().copied().collect()));
    assert_eq!(merged_flows(std::slice::from_ref(&workload), &fabric, 1).unwrap(), given);
    let twice = merged_flows(&[workload.clone(), workload], &fabric, 1).unwrap();
    assert_eq!(twice.iter().map(at_ps).collect::<Vec<_>>(), [3, 3, 5, 5, 9, 9]);
    assert_eq!(twice[0].job, Some(7));
    assert_eq!(twice[1].job, Some(15));
}

/// Checks flows that are drawn one after the other against the list of them all: of one workload and of several, with and
/// without jobs, waits, and lists that are not in order.
#[test]
fn flows_drawn_in_a_pass_are_those_of_the_list() {
    let fabric = leaf_spine();
    let incast = Workload::Incast(Incast {
        servers: 4,
        response_bytes: 10,
        rate: JobRate::PerSecond(1000.0),
        clients: Clients::Any,
        amount: Amount::Count(20),
        start_ps: 0,
        transport: 3,
    });
    let given = |starts: [u64; 3], job| {
        let flow = |at_ps| Flow {
            src: 0,
            dst: 1,
            size_bytes: 1,
            start: Start::At(at_ps),
            path: None,
            job,
            transport: 9,
            ports: Ports::CHOSEN,
        };
        Workload::Given(Arc::new(starts.map(flow).into_iter().collect()))
    };
    let [ring, servers] = collectives();
    let (ascending, other) = (given([5, 5, 1_000_000_000], Some(3)), given([9, 3, 5], None));
    let graph = |start_ps| {
        let steps =
            steps(4, 2, 0, |_| vec![Collective::new(Kind::AllReduce, Algorithm::Ring, 4000)]).unwrap();
        let work = PlacedWork { graph: Arc::new(steps), hosts: vec![0, 4, 8, 12], start_ps, ordered: true };
        Workload::Graph(Job { work, transport: 2 })
    };
    let messages = DrawnFlows::of(&[graph(0)], &fabric, 1).unwrap().outline();
    assert!(!messages.in_order && messages.flows > 0, "messages wait for others: {messages:?}");
    for workloads in [
        vec![],
        vec![background()],
        vec![background(), background()],
        vec![incast.clone(), background(), incast.clone(), ascending.clone(), ascending.clone()],
        vec![other.clone()],
        vec![ring.clone()],
        vec![servers.clone()],
        vec![background(), other, incast],
        vec![ascending, ring, servers, background()],
        vec![graph(0)],
        vec![graph(7), background(), graph(0)],
    ] {
        let listed = merged_flows(&workloads, &fabric, 1).unwrap();
        let drawn = DrawnFlows::of(&workloads, &fabric, 1).unwrap();
        for _ in 0..2 {
            assert_eq!(drawn.iter().collect::<Vec<_>>(), listed);
        }
        assert_eq!(drawn.outline(), Outline::of(listed));
    }
}
